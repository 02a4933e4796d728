//! Least squares: a linear system of a few unknowns by normal equations and Cholesky's decomposition.

/// Solves `A x = b` for a symmetric positive definite matrix; `None` where it is not.
pub(super) fn solve(matrix: &[Vec<f64>], right: &[f64]) -> Option<Vec<f64>> {
    let factor = cholesky(matrix)?;
    let size = right.len();
    let mut forward = vec![0.0; size];
    for row in 0..size {
        let known: f64 = (0..row).map(|column| factor[row][column] * forward[column]).sum();
        forward[row] = (right[row] - known) / factor[row][row];
    }
    let mut solution = vec![0.0; size];
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|below| factor[below][row] * solution[below]).sum();
        solution[row] = (forward[row] - known) / factor[row][row];
    }
    Some(solution)
}

/// The diagonal of the inverse of a symmetric positive definite matrix.
pub(super) fn inverse_diagonal(matrix: &[Vec<f64>]) -> Option<Vec<f64>> {
    (0..matrix.len())
        .map(|place| {
            let unit: Vec<f64> = (0..matrix.len()).map(|row| f64::from(u8::from(row == place))).collect();
            solve(matrix, &unit).map(|column| column[place])
        })
        .collect()
}

fn cholesky(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let mut factor = vec![vec![0.0; size]; size];
    for row in 0..size {
        for column in 0..=row {
            let known: f64 = (0..column).map(|place| factor[row][place] * factor[column][place]).sum();
            let rest = matrix[row][column] - known;
            if row == column {
                if rest <= f64::EPSILON * matrix[row][row].abs() {
                    return None;
                }
                factor[row][row] = rest.sqrt();
            } else {
                factor[row][column] = rest / factor[column][column];
            }
        }
    }
    Some(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_positive_definite_system_is_solved() {
        let matrix = [vec![4.0, 2.0, 0.0], vec![2.0, 5.0, 1.0], vec![0.0, 1.0, 3.0]];
        let solution = solve(&matrix, &[8.0, 15.0, 11.0]).unwrap();
        assert!(solution.iter().zip([1.0, 2.0, 3.0]).all(|(found, wanted)| (found - wanted).abs() < 1e-9));
        let diagonal = inverse_diagonal(&[vec![4.0, 0.0], vec![0.0, 2.0]]).unwrap();
        assert!(diagonal.iter().zip([0.25, 0.5]).all(|(found, wanted)| (found - wanted).abs() < 1e-9));
    }

    #[test]
    fn a_singular_system_has_no_solution() {
        assert_eq!(solve(&[vec![1.0, 1.0], vec![1.0, 1.0]], &[1.0, 1.0]), None);
    }
}
