//! Background work of a processor that follows two containers.

use std::sync::Arc;

use super::model::{BackgroundAssumptions, BackgroundModel};
use super::*;
use crate::fixtures;
use crate::measurement::{MeasurementRow, Measurements, ModelVariant};
use crate::rates::RequestRate;
use onehop_store::charges::Calibration;
use onehop_store::{ChargeBasis, FoldedOperation, OperationKind, RequestCharge};

const USERS: ContainerName = ContainerName("users");
const POSTS: ContainerName = ContainerName("posts");
const FEED: ContainerName = ContainerName("feed");

/// Writes to posts a second.
fn model(writes: f64) -> BackgroundModel {
    let writing = |plan: &ModelVariant| {
        let mut row = fixtures::row("C3", plan, 15.0, 20.0);
        row.operations = vec![operation(POSTS)];
        row
    };
    model_of(writes, writing)
}

fn operation(container: ContainerName) -> FoldedOperation {
    FoldedOperation {
        container,
        kind: OperationKind::Batch,
        times: 1,
        items: 2,
        physical_partitions: 1,
        request_charge: RequestCharge(15.0),
        basis: ChargeBasis::default(),
    }
}

fn model_of(writes: f64, row: impl FnOnce(&ModelVariant) -> MeasurementRow) -> BackgroundModel {
    let plan = ModelVariant::of_model("V3");
    let row = row(&plan);
    let measurements = Measurements { requests: Vec::new(), plans: vec![plan.clone()], rows: vec![row] };
    let rates = [RequestRate { request: "C3".to_owned(), per_second: writes }];
    let following = ChangeFeedFollowing {
        sources: vec![USERS, POSTS],
        listings: vec![PageListing {
            source: POSTS,
            container: FEED,
            request_charge: 15.0,
            confirmation_charge: 2.0,
        }],
    };
    BackgroundModel::of(&plan, &following, &measurements, &rates, &Arc::clone(&Calibration::current()))
}

fn work(physical_partitions: u32, writes: f64) -> BackgroundWork {
    model(writes).work(&|_| physical_partitions)
}

#[test]
fn background_work_grows_with_feed_ranges_and_processes() {
    let [few, many] = [1, 70].map(|partitions| work(partitions, 0.0));
    assert_eq!((few.feed_ranges, many.feed_ranges), (2, 140));
    let [few, many] = [few, many].map(|work| work.throughput(BackgroundKind::AtRest));
    assert!(few[0] < few[2] && few[0] < many[0]);
}

#[test]
fn the_parts_at_rest_add_up() {
    let work = work(70, 1.0);
    for number in 0..PROCESSES.len() {
        let parts = [BackgroundKind::Polls, BackgroundKind::Heartbeats, BackgroundKind::Observations];
        let sum: f64 = parts.into_iter().map(|kind| work.throughput(kind)[number]).sum();
        assert!((sum - work.throughput(BackgroundKind::AtRest)[number]).abs() < 1e-9);
    }
}

#[test]
fn checkpoints_are_one_for_each_write_or_feed_range() {
    let [seldom, often] = [1.0, 1e6].map(|writes| work(70, writes));
    let first = |work: &BackgroundWork, kind| work.throughput(kind)[0];
    assert!((first(&seldom, BackgroundKind::Checkpoints) - 72.0 / 7.0).abs() < 1e-9);
    assert_eq!(first(&often, BackgroundKind::Checkpoints), first(&often, BackgroundKind::CheckpointsMax));
}

#[test]
fn a_list_is_confirmed_for_each_page_and_read_once_a_minute() {
    let listings = |partitions, writes| work(partitions, writes).throughput(BackgroundKind::Listings);
    // 15 RU in a minute beside a point read for each write.
    assert_eq!((listings(1, 5.0)[0], listings(4, 5.0)[0]), (10.25, 10.25));
    // A feed range has a page in 200 ms at most.
    assert_eq!((listings(1, 1e6)[0], listings(4, 1e6)[0]), (10.25, 40.25));
    // No request of this traffic adds entries: each process that holds a feed range lists once a minute.
    assert_eq!(listings(1, 5.0), [10.25; 3]);
    assert_eq!(listings(4, 5.0), [10.25, 10.75, 11.0]);
    assert_eq!(listings(1, 0.0), [0.0; 3]);
}

#[test]
fn a_list_is_read_again_when_other_processes_have_added_entries() {
    let adding = |plan: &ModelVariant| {
        let mut row = fixtures::row("C3", plan, 15.0, 20.0);
        row.operations = vec![operation(POSTS), operation(FEED)];
        row
    };
    let model = model_of(5.0, adding);
    let listings = |partitions| model.work(&|_| partitions).throughput(BackgroundKind::Listings);
    assert_eq!(listings(1), [10.25; 3], "the only feed range has one holder");
    // After each addition of another holder, but never more listings than pages.
    let pages = 5.0 * (2.0 + 15.0);
    assert_eq!(listings(4), [10.25, pages, pages]);
}

#[test]
fn a_scrape_of_a_process_that_holds_all_leases_reads_nothing() {
    let scrapes = work(70, 0.0).throughput(BackgroundKind::MetricsScrapes);
    assert_eq!(scrapes[0], 0.0);
    assert!(scrapes[1] > 0.0 && scrapes[1] < scrapes[2]);
}

#[test]
fn the_load_by_container_is_all_of_it() {
    let model = model(3.0);
    let partitions = |container| if container == POSTS { 5 } else { 2 };
    let assumed = BackgroundAssumptions {
        physical_partitions: &partitions,
        writes_factor: 1.0,
        processes: PROCESSES[2],
    };
    let in_containers = model.containers().into_iter().flat_map(|found| model.in_container(found, assumed));
    let sum: f64 = in_containers.map(|(_, throughput)| throughput).sum();
    assert!((sum - model.work(&partitions).total()).abs() < 1e-9, "{sum}");
    assert!(model.containers().contains(&FEED));
}
