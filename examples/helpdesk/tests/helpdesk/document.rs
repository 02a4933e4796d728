//! The walk through the helpdesk, `docs/in-your-own-service.md`: each block is a part of the example, and
//! each figure is the report's.

use std::fs;
use std::path::Path;

use onehop_helpdesk::charges;
use onehop_study::render;

const DOCUMENT: &str = include_str!("../../../../docs/in-your-own-service.md");
const BLOCKS_MIN: usize = 10;

/// The requests of the table of charges, as the study names them.
const REQUESTS: [(&str, &str); 5] = [
    ("the page of a ticket", "TicketPage"),
    ("the board", "Board"),
    ("tickets of an agent", "TicketsOfAgent"),
    ("open a ticket", "OpenTicket"),
    ("add a message", "AddMessage"),
];

fn example() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A text without indentation and line breaks.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_block_is_a_part_of_the_example() {
    let folders = ["", "src", "study", "study/designs"];
    let files = folders.iter().flat_map(|folder| fs::read_dir(example().join(folder)).unwrap());
    let files = files.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let texts: Vec<String> = files.map(|path| words(&fs::read_to_string(path).unwrap())).collect();
    let blocks: Vec<&str> = DOCUMENT.split("\n```").skip(1).step_by(2).collect();
    assert!(blocks.len() >= BLOCKS_MIN, "{} blocks", blocks.len());
    for block in blocks {
        let (language, text) = block.split_once('\n').unwrap();
        assert!(["rust", "graphql", "toml"].contains(&language), "{language}");
        assert!(texts.iter().any(|file| file.contains(&words(text))), "in no file of the example:\n{text}");
    }
}

#[test]
fn the_table_has_the_charges_of_the_report() {
    let report = render::table(&charges::compare(&example().join("study")).unwrap());
    for (title, request) in REQUESTS {
        let row = DOCUMENT.lines().find(|line| line.starts_with(&format!("| {title} |"))).unwrap();
        let figures: Vec<&str> =
            row.split('|').skip(2).map(str::trim).filter(|cell| !cell.is_empty()).collect();
        let rows = report.lines().filter(|line| line.split_whitespace().next() == Some(request));
        let charges: Vec<&str> = rows
            .map(|row| row.split_whitespace().find(|word| word.parse::<f64>().is_ok()).expect("a charge"))
            .collect();
        assert_eq!(figures, charges, "{title}");
    }
}
