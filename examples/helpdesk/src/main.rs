//! Plays a day at the helpdesk: `cargo run -p onehop-helpdesk -- DIRECTORY [WEBHOOK_URL]`.

use std::path::Path;
use std::sync::Arc;

use onehop_helpdesk::{Desk, Webhook, charges};
use onehop_store::Ledger;
use onehop_study::render;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("name a directory for the data")?;
    let desk = Desk::open(Path::new(&directory))?;
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());

    let read_models = Arc::new(desk.read_model_processor(stop.clone()).await?);
    let mut processors = vec![Arc::clone(&read_models)];
    if let Some(url) = arguments.next() {
        processors.push(Arc::new(desk.webhook_processor(Webhook::new(url), stop.clone()).await?));
    }
    for processor in processors {
        let readers = tasks.clone();
        tasks.spawn(async move {
            processor.run(|_, reader| drop(readers.spawn(reader))).await;
        });
    }

    let mut live = desk.live_messages().await?;
    let ledger = Ledger::new();
    let (ada, grace) = (desk.hire("Ada", &ledger).await?, desk.hire("Grace", &ledger).await?);
    let ticket = desk.open_ticket(&ada.id, "The printer does not answer", &ledger).await?;
    desk.add_message(&ticket.id, &grace.id, "I have turned it off and on again.", &ledger).await?;
    for message in live.next().await? {
        println!("{}: {}", message.author_name, message.text);
    }
    desk.rename(&ada.id, "Ada L.", &ledger).await?;
    println!("the day's commands took {:.2} RU", ledger.total().0);

    let reads = Ledger::new();
    desk.ticket(&ticket.id, &reads).await?;
    println!("the page of a ticket takes {:.2} RU", reads.total().0);

    stop.cancel();
    tasks.close();
    tasks.wait().await;

    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("study");
    println!("\n{}", render::summary(&charges::compare(&study)?));
    Ok(())
}
