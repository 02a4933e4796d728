//! The worked example: its figures equal the output of the program, and its sums are right.

use crate::api::binary::run;

const DOCUMENT: &str = include_str!("../../../docs/worked-example.md");

/// The cells of the tables' lines with a figure at the end, and that figure.
fn lines() -> impl Iterator<Item = (Vec<&'static str>, f64)> {
    DOCUMENT.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
        let figure = cells.last()?.replace(',', "").parse().ok()?;
        Some((cells, figure))
    })
}

/// A sum of products such as `10 x 9.61 + 45.34`; `None` for words.
fn sum(terms: &str) -> Option<f64> {
    let product = |term: &str| {
        let factors: Option<Vec<f64>> = term.split(" x ").map(|factor| factor.trim().parse().ok()).collect();
        factors.map(|factors| factors.into_iter().product::<f64>())
    };
    let products: Option<Vec<f64>> = terms.split(" + ").map(product).collect();
    products.map(|products| products.into_iter().sum())
}

#[tokio::test]
async fn each_charge_of_the_worked_example_is_printed() {
    let mut cases = 0;
    for (cells, figure) in lines() {
        let Some(case) = cells[1].strip_prefix("`{").and_then(|rest| rest.strip_suffix('`')) else {
            continue;
        };
        let output = run(&["charges", "explain", &format!("{{{case}")]).await;
        let printed = String::from_utf8(output.stdout).unwrap();
        let line =
            printed.lines().find(|line| line.starts_with("estimated")).unwrap_or_else(|| panic!("{case}"));
        let charge: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!((charge - figure).abs() <= 0.005, "{case}: {charge} and not {figure}");
        cases += 1;
    }
    assert_eq!(cases, 15);
}

#[test]
fn the_sums_of_the_worked_example_are_right() {
    let mut sums = 0;
    for (cells, figure) in lines() {
        let Some(sum) = sum(cells[1]) else { continue };
        let is_provisioned = figure % 100.0 == 0.0;
        let expected = if is_provisioned { ((sum / 100.0).ceil() * 100.0).max(400.0) } else { sum };
        assert!((expected - figure).abs() < 0.005, "{cells:?}: {expected}");
        sums += 1;
    }
    assert_eq!(sums, 14);
}

#[test]
fn the_sums_take_their_terms_from_the_table_of_charges() {
    let is_charge = |cells: &[&str]| cells[1].starts_with("`{");
    let charges: Vec<f64> = lines().filter(|(cells, _)| is_charge(cells)).map(|(_, figure)| figure).collect();
    let sums: Vec<f64> = lines().filter(|(cells, _)| !is_charge(cells)).map(|(_, figure)| figure).collect();
    for (cells, _) in lines().filter(|(cells, _)| sum(cells[1]).is_some()) {
        for term in cells[1].split(" + ") {
            let charge: f64 = term.split(" x ").last().unwrap().parse().unwrap();
            assert!(charges.contains(&charge) || sums.contains(&charge), "{term} in {cells:?}");
        }
    }
}
