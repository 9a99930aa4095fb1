//! The skills that are a part of Hob.

use crate::folder::{SKILL_FILE, SkillFile, SkillFolder, digest_of};
use crate::format;

const SHIPPED: [(&str, &str); 5] = [
    ("debug-command", include_str!("shipped/debug-command.md")),
    ("draft-letter", include_str!("shipped/draft-letter.md")),
    ("plan-meals", include_str!("shipped/plan-meals.md")),
    ("research", include_str!("shipped/research.md")),
    ("summarise", include_str!("shipped/summarise.md")),
];

pub(super) fn all() -> Vec<SkillFolder> {
    SHIPPED.iter().filter_map(|(name, text)| found(name, text)).collect()
}

fn found(name: &str, text: &str) -> Option<SkillFolder> {
    match format::parse(text.as_bytes(), Some(name)) {
        Ok(skill) => {
            let digest = digest_of(text.as_bytes());
            let bytes = text.len() as u64;
            let file = SkillFile {
                path: SKILL_FILE.to_owned(),
                bytes,
                digest: digest.clone(),
                script: false,
                executable: false,
            };
            Some(SkillFolder { skill, files: vec![file], digest })
        }
        // A test holds that there is none such.
        Err(error) => {
            tracing::error!(name, %error, "a skill of Hob's own cannot be read; it is left out");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hob_core::domain::tools::BUILT_IN;
    use hob_model::tokens;

    #[test]
    fn k4_the_five_that_ship_are_good_short_and_name_real_tools() {
        let all = all();
        let names: Vec<&str> = all.iter().map(|found| found.skill.name.as_str()).collect();
        assert_eq!(names, ["debug-command", "draft-letter", "plan-meals", "research", "summarise"]);
        // Tools of other families of this Hob, beside those that are always there.
        let families = [
            "terminal",
            "read_file",
            "write_file",
            "search_files",
            "list_files",
            "send_file",
            "web_search",
            "web_fetch",
            "schedule",
        ];
        for found in &all {
            let skill = &found.skill;
            assert!(tokens::count(&skill.body) < 700, "{}", skill.name);
            assert!(!skill.triggers.is_empty() && skill.description.len() < 200, "{}", skill.name);
            for tool in &skill.allowed_tools {
                assert!(BUILT_IN.contains(&tool.as_str()) || families.contains(&tool.as_str()), "{tool}");
                assert!(skill.body.contains(tool.as_str()), "{}: {tool} is not used", skill.name);
            }
            assert_eq!(crate::report::hidden(SKILL_FILE, &skill.body), []);
        }
    }
}
