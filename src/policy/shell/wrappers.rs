//! Programs that run another one, named in their own arguments.

use crate::domain::tools::Grade;

/// How the command within is found.
pub(super) struct Wrapper {
    /// Its name.
    pub(super) name: &'static str,
    /// Options that take the next word as their value.
    pub(super) valued: &'static [&'static str],
    /// How many words of its own come before the command.
    pub(super) own: usize,
    /// What running something in this way means by itself.
    pub(super) grade: Grade,
    /// Why.
    pub(super) why: &'static str,
}

const fn plain(name: &'static str, valued: &'static [&'static str], own: usize) -> Wrapper {
    Wrapper { name, valued, own, grade: Grade::Safe, why: "" }
}

const fn graded(name: &'static str, valued: &'static [&'static str], grade: Grade, why: &'static str) -> Wrapper {
    Wrapper { name, valued, own: 0, grade, why }
}

const AS_ANOTHER: &str = "runs with another user's rights";
const LASTING: &str = "goes on running after the command is over";

/// All of them.
const WRAPPERS: &[Wrapper] = &[
    plain("env", &["-u", "--unset", "-C", "--chdir"], 0),
    plain("command", &[], 0),
    plain("builtin", &[], 0),
    plain("exec", &["-a"], 0),
    plain("nice", &["-n", "--adjustment"], 0),
    plain("ionice", &["-c", "-n", "--class", "--classdata"], 0),
    plain("chrt", &[], 1),
    plain("taskset", &[], 1),
    plain("time", &["-f", "-o", "--format", "--output"], 0),
    plain("timeout", &["-k", "-s", "--kill-after", "--signal"], 1),
    plain("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
    plain("unbuffer", &[], 0),
    plain("flock", &["-w", "-E", "--wait", "--timeout", "--conflict-exit-code"], 1),
    plain("busybox", &[], 0),
    plain("toybox", &[], 0),
    plain("catchsegv", &[], 0),
    plain("hyperfine", &["-w", "-r", "-m", "-M", "--warmup", "--runs"], 0),
    graded("nohup", &[], Grade::Medium, LASTING),
    graded("setsid", &[], Grade::Medium, LASTING),
    graded("strace", &["-e", "-o", "-p", "-s", "-P", "-E"], Grade::Medium, "looks into a running program"),
    graded("ltrace", &["-e", "-o", "-p", "-s"], Grade::Medium, "looks into a running program"),
    graded("watch", &["-n", "--interval"], Grade::High, "runs a command again and again"),
    graded("entr", &[], Grade::High, "runs a command again and again"),
    graded("parallel", &["-j", "--jobs", "-I", "-a", "--arg-file"], Grade::High, "builds commands from what it reads"),
    graded("fakeroot", &[], Grade::Medium, "pretends to be the administrator"),
    graded("xvfb-run", &["-n", "-s", "-e", "-f"], Grade::Medium, "opens a screen of its own"),
    graded("dbus-run-session", &[], Grade::Medium, "opens a session of its own"),
    graded(
        "sudo",
        &["-u", "-g", "-h", "-p", "-C", "-T", "-U", "-D", "-R", "-r", "-t", "--user", "--group", "--host"],
        Grade::Critical,
        AS_ANOTHER,
    ),
    graded("doas", &["-u", "-C"], Grade::Critical, AS_ANOTHER),
    graded("pkexec", &["--user"], Grade::Critical, AS_ANOTHER),
    graded("runuser", &["-u", "-g"], Grade::Critical, AS_ANOTHER),
    graded("setpriv", &[], Grade::Critical, AS_ANOTHER),
    graded("capsh", &[], Grade::Critical, AS_ANOTHER),
    graded("unshare", &[], Grade::Critical, "leaves the bounds that it runs in"),
    graded("bwrap", &[], Grade::Critical, "leaves the bounds that it runs in"),
    graded("firejail", &[], Grade::Critical, "leaves the bounds that it runs in"),
    graded(
        "systemd-run",
        &["-u", "-p", "-E", "--unit", "--property"],
        Grade::Critical,
        "hands a command to the system to run",
    ),
    Wrapper { name: "chroot", valued: &[], own: 1, grade: Grade::Critical, why: "leaves the bounds that it runs in" },
];

/// The wrapper of this name.
pub(super) fn find(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}
