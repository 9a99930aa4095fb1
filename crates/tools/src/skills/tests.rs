use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::skills::manage_skills::ManageSkills;
use crate::skills::use_skill::UseSkill;
use crate::{Invocation, Outcome, Tool};
use hob_core::domain::ids::UserId;
use hob_core::domain::origin::{Origin, OriginSource};
use hob_core::domain::skills::{SkillBook, SkillContent, SkillError, SkillLine, SkillList, SkillState};
use hob_core::domain::tools::{DangerGrade, Risk};

/// Knows `tea`, which is trusted, `coffee`, which is not, and `milk`, which is inert.
#[derive(Default)]
struct FakeSkillBook {
    done: Mutex<Vec<String>>,
}

fn line(name: &str, standing: SkillState, trusted: bool) -> SkillLine {
    SkillLine { name: name.to_owned(), description: format!("Makes {name}."), standing, trusted }
}

#[async_trait]
impl SkillBook for FakeSkillBook {
    async fn list(&self) -> Result<SkillList, SkillError> {
        let skills = vec![
            line("coffee", SkillState::Enabled, false),
            line("milk", SkillState::Inert, false),
            line("tea", SkillState::Configured, true),
        ];
        Ok(SkillList { skills, quarantined: Vec::new() })
    }

    async fn open(&self, name: &str, file: Option<&str>) -> Result<SkillContent, SkillError> {
        if file == Some("../x") {
            return Err(SkillError::Outside { name: name.to_owned(), file: "../x".to_owned() });
        }
        let text = file.map_or_else(|| "Boil.".to_owned(), |file| format!("In {file}."));
        let (files, allowed_tools) = (vec!["a.md".to_owned(), "b.md".to_owned()], vec!["terminal".to_owned()]);
        Ok(SkillContent { text, files, allowed_tools, trusted: name == "tea" })
    }

    async fn show(&self, name: &str) -> Result<String, SkillError> {
        Ok(format!("All of {name}."))
    }

    async fn enable(&self, name: &str, enabled: bool, _: Timestamp) -> Result<(), SkillError> {
        self.done.lock().unwrap().push(format!("{name} {enabled}"));
        Ok(())
    }

    async fn remove(&self, name: &str) -> Result<(), SkillError> {
        self.done.lock().unwrap().push(format!("{name} removed"));
        Ok(())
    }

    async fn draft(&self, _: UserId, _: Timestamp) -> Result<String, SkillError> {
        Err(SkillError::NothingToDraft)
    }
}

async fn ask(tool: &dyn Tool, arguments: Value) -> Outcome {
    Outcome::of(tool.call(Invocation::for_trial(arguments)).await)
}

#[tokio::test]
async fn k4_a_skill_is_read_listed_and_its_files_on_demand() {
    let tool = UseSkill::new(Arc::new(FakeSkillBook::default()));
    let Outcome::Text(text) = ask(&tool, json!({ "name": "tea" })).await else { panic!("it is read") };
    insta::assert_snapshot!(text, @"
    Skill tea:

    Boil.

    Its files, read by use_skill with `file`: a.md, b.md

    It works with: terminal. That gives you no tool that you do not have.
    ");
    assert_eq!(ask(&tool, json!({ "name": "tea", "file": "a.md" })).await, Outcome::Text("In a.md.".to_owned()));
    assert_eq!(
        ask(&tool, json!({ "name": "tea", "file": "../x" })).await,
        Outcome::Error("\"../x\" is outside of the skill tea: only files in its own folder can be read.".to_owned())
    );
    let listed = Outcome::Text("- coffee (installed)\n- tea: Makes tea.".to_owned());
    assert_eq!(ask(&tool, json!({})).await, listed, "what is not enabled or not vouched for says nothing");
    assert!(tool.spec().core && tool.spec().facts.risk == Risk::Read);
}

#[tokio::test]
async fn n6_the_words_of_a_skill_that_nobody_vouches_for_taint() {
    let book = Arc::new(FakeSkillBook::default());
    let tool = UseSkill::new(Arc::clone(&book) as Arc<dyn SkillBook>);
    let of_skill = |outcome: &Outcome| matches!(outcome, Outcome::From(source, _) if *source == OriginSource::new(Origin::Skill, "coffee"));
    assert!(of_skill(&ask(&tool, json!({ "name": "coffee" })).await));
    assert!(of_skill(&ask(&tool, json!({ "name": "coffee", "file": "a.md" })).await));
    let keeper = ManageSkills::new(book);
    assert!(of_skill(&ask(&keeper, json!({ "action": "show", "name": "coffee" })).await));
    assert_eq!(ask(&keeper, json!({ "action": "show", "name": "tea" })).await, Outcome::Text("All of tea.".to_owned()));
}

#[tokio::test]
async fn k4_to_enable_or_remove_is_critical() {
    let book = Arc::new(FakeSkillBook::default());
    let tool = ManageSkills::new(Arc::clone(&book) as Arc<dyn SkillBook>);
    let mut graded = Vec::new();
    for action in ["list", "show", "enable", "disable", "remove", "draft"] {
        let invocation = Invocation::for_trial(json!({ "action": action, "name": "tea" }));
        let assessment = tool.assess(&invocation, &|_| false).await;
        graded.push((action, assessment.risk, assessment.grade));
        assert_eq!(assessment.grade == DangerGrade::Critical, !assessment.reasons.is_empty());
    }
    assert_eq!(
        graded,
        [
            ("list", Risk::Read, DangerGrade::Safe),
            ("show", Risk::Read, DangerGrade::Safe),
            ("enable", Risk::Write, DangerGrade::Critical),
            ("disable", Risk::Write, DangerGrade::Safe),
            ("remove", Risk::Write, DangerGrade::Critical),
            ("draft", Risk::Write, DangerGrade::Safe)
        ]
    );
    for action in ["enable", "disable", "remove"] {
        let Outcome::Text(_) = ask(&tool, json!({ "action": action, "name": "tea" })).await else {
            panic!("it is done")
        };
        assert_eq!(
            ask(&tool, json!({ "action": action })).await,
            Outcome::Error("It needs the skill's name.".to_owned())
        );
    }
    assert_eq!(*book.done.lock().unwrap(), ["tea true", "tea false", "tea removed"]);
    assert_eq!(
        ask(&tool, json!({ "action": "list" })).await,
        Outcome::Text(
            "- coffee (enabled, not trusted)\n- milk (inert, not trusted)\n- tea (from your folders)".to_owned()
        )
    );
    let Outcome::Error(told) = ask(&tool, json!({ "action": "draft" })).await else { panic!("nothing is on offer") };
    assert!(told.starts_with("there is nothing to make a skill of: "), "{told}");
}
