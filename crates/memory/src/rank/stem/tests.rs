use super::stem;

/// Words, and what SQLite's FTS5 makes of them.
const STEMS: &str = "
    caresses caress, ponies poni, ties ti, caress caress, cats cat, feed feed, agreed agre, plastered plaster,
    bled bled, motoring motor, sing sing, conflated conflat, troubled troubl, sized size, hopping hop, tanned tan,
    falling fall, hissing hiss, fizzed fizz, failing fail, filing file, happy happi, sky sky, relational relat,
    conditional condit, rational ration, valenci valenc, hesitanci hesit, digitizer digit, conformabli conform,
    radicalli radic, differentli differ, vileli vile, analogousli analog, vietnamization vietnam,
    predication predic, operator oper, feudalism feudal, decisiveness decis, hopefulness hope, callousness callous,
    formaliti formal, sensitiviti sensit, sensibiliti sensibl, triplicate triplic, formative form,
    formalize formal, electriciti electr, electrical electr, hopeful hope, goodness good, revival reviv,
    allowance allow, inference infer, airliner airlin, gyroscopic gyroscop, adjustable adjust, defensible defens,
    irritant irrit, replacement replac, adjustment adjust, dependent depend, adoption adopt, homologou homolog,
    communism commun, activate activ, angulariti angular, homologous homolog, effective effect, bowdlerize bowdler,
    probate probat, rate rate, cease ceas, controll control, roll roll, generalizations gener, oscillators oscil,
    running run, dogs dog, dog dog, is is, as as, was wa, yes ye, geschichten geschichten, hauser hauser,
    große groß, geburtstag geburtstag, wohnung wohnung, gehen gehen, fahrt fahrt, straße straß, words word,
    birthday birthdai, camping camp, painted paint, painting paint, studies studi, studied studi, analogy analog,
    geologies geologi, being be, seed seed, exceed exce
";

#[test]
fn e5_stems_are_those_of_the_full_text_index() {
    for pair in STEMS.split(',') {
        let (word, expected) = pair.trim().split_once(' ').unwrap();
        assert_eq!(stem(word), expected, "{word}");
    }
}
