use super::*;

fn base(base_url: &str) -> Result<String, ErrorClass> {
    Endpoint::new(base_url, "/v1", Deadlines::default()).map(|endpoint| endpoint.base).map_err(|error| error.class)
}

#[test]
fn people_write_the_address_with_and_without_its_version() {
    for written in ["https://host", "https://host/", "https://host/v1", " https://host/v1/ "] {
        assert_eq!(base(written), Ok("https://host".to_owned()), "{written}");
    }
    assert_eq!(base("http://host:8080/api/v1"), Ok("http://host:8080/api".to_owned()));
    for wrong in ["host/v1", "ftp://host", "https://", ""] {
        assert_eq!(base(wrong), Err(ErrorClass::BadRequest), "{wrong}");
    }
}

#[test]
fn a_key_is_trimmed_and_hidden() {
    let header = |key: &str| key_header("Bearer ", &Secret::new(key.to_owned()));
    let good = header("sk-x\n").unwrap();
    assert_eq!(good.to_str().unwrap(), "Bearer sk-x");
    assert!(!format!("{good:?}").contains("sk-x"));
    let error = header("sk-\nx").unwrap_err();
    assert_eq!(error.class, ErrorClass::Auth);
    assert!(!error.message.contains("sk-"), "{error}");
}

#[test]
fn loopback_is_on_this_machine() {
    for (address, local) in
        [("http://localhost:1", true), ("http://127.3.2.1", true), ("http://[::1]:1", true), ("http://10.0.0.1", false)]
    {
        assert_eq!(is_local(&parse(address).unwrap()), local, "{address}");
    }
}
