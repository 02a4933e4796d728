//! The list of all tests, and the adapters over which they run.

use futures::future::LocalBoxFuture;
use tokio::runtime::{Builder, Runtime};

use crate::contract::adapters::account;
use crate::contract::harness::Subject;

type Test = fn(Subject) -> LocalBoxFuture<'static, ()>;

/// Runs a test over an adapter. The futures are boxed, so that a runtime is compiled once and not for each
/// test of each adapter.
fn run(subject: LocalBoxFuture<'static, Subject>, test: Test) {
    runtime().block_on(async move { test(subject.await).await });
}

/// Runs a test over a database of its own in an account.
fn run_in_account(test: Test) {
    runtime().block_on(async move {
        let (subject, database) = account().await;
        test(subject).await;
        database.delete().await;
    });
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

/// Runs one adapter's tests as `contract::<adapter>::<file>::<test>`.
macro_rules! tests_of {
    (run $adapter:ident { $($file:ident { $($test:ident)+ })+ }) => {
        mod $adapter {
            $(mod $file {
                use futures::FutureExt as _;

                $(#[test]
                fn $test() {
                    let test = |subject| crate::contract::$file::$test(subject).boxed_local();
                    crate::contract::suite::run(crate::contract::adapters::$adapter().boxed_local(), test);
                })+
            })+
        }
    };
    (in_account $adapter:ident { $($file:ident { $($test:ident)+ })+ }) => {
        mod $adapter {
            $(mod $file {
                use futures::FutureExt as _;

                $(#[test]
                #[ignore = "it needs an account or an emulator at ONEHOP_TEST_COSMOS_ENDPOINT"]
                fn $test() {
                    let test = |subject| crate::contract::$file::$test(subject).boxed_local();
                    crate::contract::suite::run_in_account(test);
                })+
            })+
        }
    };
}

macro_rules! contract_over {
    ($($mode:ident $adapter:ident)+) => {
        $(tests_of! { $mode $adapter {
            items {
                a_created_item_is_in_reads_queries_counts_and_the_feed
                the_body_comes_back_byte_for_byte
                an_item_carries_the_time_of_its_last_write
                absence_is_none
                the_same_id_lives_in_several_logical_partitions
                many_reads_answer_in_the_order_of_their_keys
                a_second_create_of_the_same_id_is_a_conflict
                an_upsert_writes_whether_the_item_exists_or_not
                every_write_changes_the_etag_even_one_of_the_same_bytes
                a_deleted_item_is_gone_and_can_be_created_again
                a_rewrite_moves_an_item_in_every_order_and_index
                an_unknown_container_is_a_fault_and_not_a_panic
                everything_is_there_after_reopening
            }
            preconditions {
                a_replace_needs_an_item
                a_replace_without_an_etag_takes_any_version
                a_replace_with_an_old_etag_is_refused
                a_delete_needs_an_item_and_its_etag
                the_etag_of_a_deleted_item_does_not_match_its_successor
                an_etag_of_another_store_matches_nothing
                an_etag_that_was_read_works_for_the_next_write
            }
            batches {
                a_refusal_in_any_position_leaves_nothing_behind
                the_first_refusal_is_the_one_that_is_named
                a_batch_answers_with_an_etag_for_each_operation
                an_empty_batch_does_nothing
                an_operation_sees_what_the_ones_before_it_did_to_the_same_id
                creating_the_same_id_twice_in_a_batch_is_a_conflict
                a_write_within_a_batch_outdates_the_earlier_etag
                moving_an_item_and_back_keeps_its_index_entries
                a_batch_is_whole_after_reopening
            }
            limits {
                a_batch_of_100_operations_is_fine_and_of_101_is_refused
                an_item_of_2_mb_is_fine_and_one_byte_more_is_refused
                a_batch_of_2_mb_is_fine_and_one_byte_more_is_refused
                an_id_with_a_forbidden_character_is_refused
                an_id_has_1_to_1023_bytes
                a_partition_key_has_at_most_2048_bytes
                an_indexed_text_has_at_most_2048_bytes
                a_body_without_its_id_and_partition_key_is_refused
                a_body_that_is_not_one_object_is_refused
                keys_of_any_length_are_asked_for_without_harm
                a_page_has_at_most_1000_items
            }
            queries {
                a_partition_is_answered_in_its_order_in_both_directions
                equality_is_answered_across_partitions_in_both_directions
                the_newest_come_first_from_all_partitions
                every_equality_path_has_its_own_answers
                items_of_other_types_are_in_no_answer
                ties_in_the_order_value_are_broken_by_id
                items_without_an_order_value_come_before_all_others
                a_type_is_answered_in_each_of_its_orders
                an_order_of_several_properties_goes_each_in_its_direction
                an_order_that_a_type_does_not_have_is_a_fault
                a_soft_deleted_item_is_read_and_in_the_feed_but_in_no_query
                a_soft_deleted_item_that_is_restored_is_found_again
                a_container_without_soft_deletes_refuses_them
                a_hard_deleted_item_is_in_no_answer
                a_query_without_an_index_is_a_fault
                counts_follow_every_write
            }
            paging {
                pages_of_every_size_hold_each_item_once
                pages_across_partitions_hold_each_item_once
                has_more_is_exact_at_the_boundary
                has_more_does_not_count_what_no_query_sees
                inserts_between_pages_neither_repeat_nor_lose_an_item
                deleting_the_keyset_item_keeps_the_next_page
                any_keyset_is_a_place_between_items
            }
            texts {
                every_text_is_a_good_id_partition_key_and_value
                pages_go_on_behind_any_text
                a_zero_character_is_fine_in_everything_but_an_id
                the_feed_is_filtered_by_types_of_any_text
            }
            expiry {
                an_item_is_invisible_at_once_when_its_time_is_over
                a_page_says_no_more_once_the_rest_has_expired
                a_purge_takes_what_is_over_and_nothing_else
                pages_and_counts_pass_over_what_is_over
                an_id_whose_time_is_over_is_free_again
                a_rewrite_sets_extends_and_clears_the_time
                a_soft_deleted_item_leaves_the_feed_when_its_time_is_over
                a_purge_races_with_rewrites_and_takes_none_of_them
                time_goes_on_while_the_store_is_closed
            }
            feed {
                changes_of_a_logical_partition_are_in_write_order
                the_operations_of_a_batch_come_in_their_order
                the_change_feed_has_the_latest_version_of_each_item
                a_reader_goes_on_where_it_stood
                a_reader_that_starts_at_the_end_sees_later_writes
                a_reader_that_starts_at_a_time_misses_nothing_later
                drained_says_whether_there_was_more
                a_change_behind_the_reader_comes_again_with_its_new_version
                a_page_passes_no_item_that_comes_after_it
                the_feed_is_filtered_by_types_and_still_moves_on
                every_logical_partition_is_in_exactly_one_range
                a_hard_deleted_item_is_not_in_the_feed
                a_continuation_outlives_the_item_it_stands_at
                a_continuation_outlives_an_emptied_container
                refused_batches_before_reopening_hide_no_later_change
                a_reader_resumes_after_reopening
                without_its_continuation_a_reader_sees_changes_again
                pending_changes_are_counted_from_a_continuation
                a_write_wakes_waiters_of_its_container
            }
            feed_faults {
                a_forged_continuation_is_refused
                a_continuation_from_the_future_is_refused_and_hides_nothing
                a_forged_range_is_refused
            }
            ledger {
                each_write_is_recorded_under_its_kind
                a_refused_write_is_recorded_with_no_items
                reads_are_recorded_with_what_they_returned
                a_cross_partition_query_visits_all_physical_partitions
                many_reads_are_charged_as_so_many_point_reads
                a_page_of_the_feed_is_recorded
            }
            concurrency {
                eight_writers_of_one_item_lose_no_update
                eight_writers_of_one_logical_partition_keep_its_count_exact
                of_many_creates_of_one_id_exactly_one_succeeds
                writers_of_different_partitions_do_not_conflict
                readers_see_whole_batches_or_nothing
                an_item_that_is_rewritten_is_never_absent
                a_dropped_write_happens_wholly_or_not_at_all
                a_reader_of_the_feed_beside_writers_misses_nothing
            }
            short_lists {
                a_list_that_moves_is_whole_in_every_page
                a_writer_finds_its_own_writes_at_both_ends
                items_without_an_order_enter_a_moving_list_at_its_end
                a_list_that_was_emptied_fills_again
            }
            model {
                random_operations_do_what_a_map_would_do
            }
        } })+
    };
}

contract_over!(run embedded run embedded_relaxed run cosmos run account_model run account_model_lagging in_account account);
#[cfg(feature = "simulation")]
contract_over!(run simulated run simulated_relaxed);
