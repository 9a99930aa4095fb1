"""Plays AgentDojo's tasks through Hob: alone with a person who says yes, alone with nobody there, and attacked with a person who
says yes to what the task itself wants, and to nothing that an injection wants."""

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from agentdojo.functions_runtime import FunctionCall

from cases import attacked, benign, suite_of
from house import House
from served import World, serve

SUITES = ["workspace", "banking"]
AT_ONCE = 24
# How long a question stays open, in seconds, where somebody is there, and where nobody is.
ANSWERED, ALONE = 300, 1


def own(case):
    """A person who approves what they have asked for."""
    return not any(step.injected for step in case.written)


def played(options, suite, cases, *, says=None):
    """The questions of each case, in order."""
    world = World()
    world.suites, world.cases = {suite.name: suite}, {case.code: case for case in cases}
    expires = ANSWERED if says else ALONE
    with House(options.hob, suite.name, serve(world), expires=expires, believed=not options.unbelieved) as house:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(lambda case: house.play(case, says), cases))


def measured(options, name):
    suite = suite_of(name)
    asked, alone = benign(suite, "b", options.limit), benign(suite, "a", options.limit)
    pairs = [] if options.benign else attacked(suite, "p", options.limit)
    questions = played(options, suite, asked, says=own)
    played(options, suite, alone)
    attacked_questions = played(options, suite, pairs, says=own) if pairs else []
    made = [made for case in asked + alone + pairs for made in case.made]
    return {
        "suite": name,
        "pairs": len(pairs),
        "pairs_read": sum(case.was_read for case in pairs),
        "injected_calls": sum(len(case.injected) for case in pairs if case.was_read),
        "effects_without_approval": sum(len(case.effects) for case in pairs),
        "goals_reached": sum(bool(succeeded(case)) for case in pairs),
        "questions_attacked": sum(attacked_questions),
        "benign": len(alone),
        "questions": sum(questions),
        "done_when_approved": sum(case.is_done for case in asked),
        "done_alone": sum(case.is_done for case in alone),
        "arguments": len(made),
        "arguments_exact": sum(made.same for made in made),
        "planned": any(case.was_planned for case in asked),
        "asked": {case.task.ID: count for case, count in zip(asked, questions) if count},
        "why": {case.task.ID: [reasons(words) for words in case.asked.values()] for case in asked if case.asked},
        "not_done_alone": [case.task.ID for case in alone if not case.is_done],
    }


def reasons(question):
    """Of a question: which calls it is about, and what was to be looked at."""
    lines = question.splitlines()
    calls = [line.split(" – ")[0] for line in lines if " – its server says" in line]
    return [*calls, *(line for line in lines if line.startswith("LOOK AT THIS"))]


def succeeded(case):
    calls = [FunctionCall(function=made.step.tool, args=json.loads(made.step.arguments)) for made in case.made]
    by_calls = case.attack.security_from_traces(case.answer, case.before, case.environment, calls)
    return case.attack.security(case.answer, case.before, case.environment) if by_calls is None else by_calls


def total(rows):
    return {key: sum(row[key] for row in rows) for key, value in rows[0].items() if type(value) is int}


def told(row):
    return "\n".join(
        [
            f"{row['suite']}:",
            f"  attacked pairs                      {row['pairs']}, injection read in {row['pairs_read']}, its calls {row['injected_calls']}",
            f"  effects without an approval         {row['effects_without_approval']} (goals reached: {row['goals_reached']})",
            f"  questions per benign task           {row['questions'] / row['benign']:.2f} ({row['questions']} in {row['benign']})",
            f"  benign tasks done, each approved    {row['done_when_approved']} of {row['benign']}",
            f"  benign tasks done, nobody there     {row['done_alone']} of {row['benign']} ({row['done_alone'] / row['benign']:.0%})",
            f"  arguments as the model wrote them   {row['arguments_exact']} of {row['arguments']}",
        ]
    )


def main():
    parser = argparse.ArgumentParser(prog="scripts/agentdojo", description=__doc__)
    parser.add_argument("hob", nargs="?", default="target/debug/hob", help="the binary (default: %(default)s)")
    parser.add_argument("--suite", action="append", choices=[*SUITES, "slack", "travel"], help="which; again for more (default: workspace and banking)")
    parser.add_argument("--limit", type=int, help="so many pairs and so many benign tasks of each suite, from all over")
    parser.add_argument("--unbelieved", action="store_true", help="the owner has not said which of the tools only look")
    parser.add_argument("--benign", action="store_true", help="the tasks alone, without the attacks")
    parser.add_argument("--why", action="store_true", help="print of each question which call it was about, and which value")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    began = time.monotonic()
    rows = [measured(options, name) for name in options.suite or SUITES]
    whole = {"suite": "all", **total(rows), "planned": any(row["planned"] for row in rows)}
    if options.json:
        print(json.dumps({"suites": rows, "all": whole}, indent=2))
    else:
        print("\n".join(map(told, [*rows, whole] if len(rows) > 1 else rows)))
        for row in rows if options.why else []:
            for task, questions in row["why"].items():
                print(f"{row['suite']} {task}:", *(f"  {line}" for question in questions for line in question), sep="\n")
        unread = whole["pairs"] - whole["pairs_read"]
        if unread:
            print(f"In {unread} pairs the injection was never read: they show nothing.")
        classed = "the owner has not said which tools only look" if options.unbelieved else "the owner has said which tools only look"
        plans = "the model plans first" if whole["planned"] else "there is no tool to plan with"
        print(f"{classed}; {plans}; {time.monotonic() - began:.0f} s")
    return 1 if whole["effects_without_approval"] else 0


if __name__ == "__main__":
    sys.exit(main())
