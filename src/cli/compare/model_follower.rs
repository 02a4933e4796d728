//! The projections of a data model, which follow its writes while it is measured: in V1 no projections, in V2
//! the usernames, in V3 all.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::app::Member;
use crate::blog::read_models::{self, USERNAMES};
use crate::blog::reads::DataModel;
use onehop_change_feed::{Processor, Projection, Settings};
use onehop_store::Store;
use onehop_study::discards::FollowedContainer;
use onehop_study::follower::Follower;
use onehop_study::metered::MeteredStore;

/// The follower of a data model. `store` should be as recent as the reads of a server's processor.
pub(super) async fn follower(
    app: &App,
    member: &Member,
    model: DataModel,
    store: MeteredStore,
) -> anyhow::Result<Option<Follower>> {
    let projections: Vec<Arc<dyn Projection>> = match model {
        DataModel::V1 => return Ok(None),
        DataModel::V2 => read_models::read_models().projection(USERNAMES).into_iter().collect(),
        DataModel::V3 => read_models::projections(),
    };
    let store = Arc::new(store.following(followed(&projections)));
    let settings = Settings { sharing: member.sharing, ..Settings::new(member.owner.clone()) };
    let port: Arc<dyn Store> = Arc::clone(&store) as _;
    let stop = CancellationToken::new();
    let processor = Processor::open(port, Arc::clone(&app.clock), projections, settings, stop).await?;
    Ok(Some(Follower { processor, store }))
}

/// The containers that projections follow, with the types that they want together.
fn followed(projections: &[Arc<dyn Projection>]) -> Vec<FollowedContainer> {
    let mut followed: Vec<FollowedContainer> = Vec::new();
    for projection in projections {
        let (container, types) = (projection.source(), projection.types().map(<[_]>::to_vec));
        match followed.iter_mut().find(|known| known.container == container) {
            Some(known) => {
                known.types = known.types.take().zip(types).map(|(known, types)| [known, types].concat());
            }
            None => followed.push(FollowedContainer { container, types }),
        }
    }
    followed
}
