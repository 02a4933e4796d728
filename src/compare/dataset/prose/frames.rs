//! Sentences of any topic, with slots for its words, and the outlines that put sentences in order.

/// Titles, in sentence case and without a full stop.
pub const TITLES: &[&str] = &[
    "What {an item} taught me about patience",
    "In praise of {items} and slow weekends",
    "The quiet joy of {doing}",
    "{number} things I learned from {an item}",
    "How I came to love {items}",
    "A beginner's guide to {items}",
    "Why I keep coming back to {items}",
    "Small lessons from {an item}",
    "A year of {doing}",
    "My first {item}, one year later",
    "{doing}, slowly and without a plan",
    "What nobody told me about {doing}",
    "The trouble with {items}, and what helps",
    "Notes after a weekend of {doing}",
    "An honest look at {items}",
    "Why {items} deserve a second look",
    "What I got wrong about {items}",
    "{items} for people in a hurry",
    "Getting started with {doing}",
    "A short defence of {items}",
    "Everything I know about {items} so far",
    "Looking back on {number} months of {doing}",
    "How {an item} changed my mind about {subject}",
    "Is {an item} worth the effort?",
    "{season} notes: {doing}",
    "A letter to my younger self about {subject}",
    "Thoughts on {items} after a long {season}",
    "Good reasons to try {doing}",
    "One {item} at a time",
    "The {item} that got me back into {subject}",
    "Less talk, more {doing}",
    "My {relation}, {an item} and me",
    "{number} mistakes I made with {items}",
    "Questions I get about {items}",
];

/// Openings for a post whose title names the item.
pub const ITEM_OPENINGS: &[&str] = &[
    "It all started with {an item} and a free weekend.",
    "I used to think that {items} were only for experts.",
    "A reader asked me why I keep writing about {items}, so here is an honest answer.",
    "I promised to write more about {subject}, and {items} seemed like a good place to begin.",
    "This is a short report about {an item}, with all the mistakes left in.",
    "People often ask how I got into {subject}, and the answer is {an item}.",
    "Nobody warned me that {items} would take over my weekends.",
    "I came late to {subject}, and perhaps that is why {items} still feel new to me.",
    "When I began to write about {subject}, I did not expect so many questions about {items}.",
    "It took me {number} months to admit it, but I have grown very fond of {items}.",
    "My {relation} and I cannot agree about {items}, so I decided to write it all down.",
    "Last {season} I could not have told you much about {items}.",
    "Some people collect stamps, and I collect stories about {items}.",
    "There are days when only {an item} will do.",
];

/// Openings for a post whose title names the act.
pub const ACT_OPENINGS: &[&str] = &[
    "Last {season} I decided to {do}, mostly out of curiosity.",
    "I have been {doing} for {number} years now, and it still surprises me.",
    "My {relation} kept telling me to {do}, and this {season} I finally listened.",
    "Some things only make sense once you try them, and {doing} is one of them.",
    "If you had told me a year ago that I would {do}, I would have laughed.",
    "There is something calming about {doing}.",
    "For a long time {doing} was on my list of things to try.",
    "I spent most of last {season} {doing}, and I would do it again.",
    "Every {season} I try something new, and this time it was {doing}.",
    "Here is what happened when my {relation} and I set out to {do}.",
    "People ask me whether {doing} is difficult, and the answer is yes and no.",
    "It took me {number} years to find out how much I enjoy {doing}.",
    "On a quiet Sunday last {season} I made up my mind to {do}.",
    "My {relation} taught me a great deal about {doing}, mostly by accident.",
];

pub const TROUBLES: &[&str] = &[
    "Then, of course, {trouble}, so {fix}.",
    "Then {trouble}. In the end {fix}.",
    "At some point {trouble}. After some grumbling {fix}.",
    "It did not go well at first: {trouble}, so {fix}.",
    "Not everything went to plan: {trouble}, so {fix}.",
    "As luck would have it, {trouble}. This time {fix}.",
    "There was one bad moment: {trouble}. Eventually {fix}.",
];

pub const LESSONS: &[&str] = &[
    "What stayed with me is that {lesson}.",
    "The main thing I learned is that {lesson}.",
    "It turns out that {lesson}.",
    "I now believe that {lesson}.",
    "My {relation} likes to say that {lesson}, and I have come to agree.",
    "If I had to keep one sentence from all this, it would be that {lesson}.",
    "It sounds obvious now, but {lesson}.",
    "I keep forgetting it, but {lesson}.",
    "{lesson}.",
];

pub const TOOLS: &[&str] = &[
    "The only thing I would not do without is {a tool}.",
    "You do not need much: {a tool} and a little time will do.",
    "I borrowed {a tool} from my {relation}, and it made all the difference.",
    "My best purchase this year was {a tool}, and it was not even expensive.",
    "It helps to keep {a tool} within reach.",
];

pub const TIPS: &[&str] = &[
    "{tip}.",
    "If you take one thing from this: {tip}.",
    "My advice is simple: {tip}.",
    "Before you begin, one word of advice: {tip}.",
    "And please, {tip}.",
];

pub const CLOSINGS: &[&str] = &[
    "That is all for today, and thank you for reading.",
    "Next time I will write about what I would do differently.",
    "If you have tried something similar, tell me how it went.",
    "I am already looking forward to the next {item}.",
    "Let me know in the comments what I should try next.",
    "It is not perfect, but it is mine, and that is enough.",
    "I will report back next {season}.",
    "Questions are welcome, and so are corrections.",
    "Until then, be kind to yourself and take your time.",
    "More on this soon, once I have slept on it.",
    "And yes, I would do it all again tomorrow.",
    "If this saves one person an afternoon, it was worth writing down.",
];

/// What readers say first.
pub const REACTIONS: &[&str] = &[
    "Thank you for writing this down, I needed it today.",
    "This made me want to {do}, today if possible.",
    "I never thought of {items} that way.",
    "What a lovely read on a grey morning.",
    "I sent this to my {relation}, who has been talking about {items} for weeks.",
    "You convinced me to give {items} another chance.",
    "This is exactly the kind of post I come here for.",
    "I enjoyed this more than I expected to.",
    "Reading this brought back good memories of my first {item}.",
    "I disagree a little, but you make a fair point.",
    "Bookmarked, and I will come back to it when I have a free evening.",
    "It is refreshing to read about {subject} without any showing off.",
    "My {relation} swears by {a tool}, and I am starting to see why.",
    "I have been {doing} for years and still learned something here.",
    "I came for the title and stayed for the details.",
    "Great timing, I was just reading about {items}.",
    "Honest posts like this one are rare, please keep them coming.",
    "So true, and hardly anybody talks about it.",
    "I read this twice, once for fun and once to take notes.",
    "Finally somebody who says it plainly.",
    "I had almost given up on {items}, so this came at the right moment.",
    "Funny, my {relation} and I had this very conversation {when}.",
    "This deserves more readers.",
    "Well written, and the ending made me smile.",
    "I tried something similar {when} and got a different result.",
    "You write about {subject} the way I wish my teachers had.",
    "Count me among the people who never got on with {items}, until now.",
    "I appreciate that you left nothing out.",
    "This is my favourite of your posts so far.",
    "Just what I was looking for, thank you.",
    "I needed a reason to {do}, and this will do nicely.",
    "My {relation} read this over my shoulder and now wants to try it too.",
    "I am new to {subject}, and this was easy to follow.",
    "You have a gift for making small things interesting.",
    "I am saving this for the next rainy weekend.",
    "Somehow this was both useful and calming.",
    "I agree on almost every point.",
    "I keep coming back to this post.",
    "There is a lot of good sense in these few lines.",
    "More posts about {items}, please.",
];

/// What readers add from their own experience, beside the replies of the topic.
pub const REPLIES: &[&str] = &[
    "For me it only started to work when I stopped comparing myself with others.",
    "I would add one thing: {lesson}.",
    "My own experience is that {lesson}.",
    "A friend once told me that {lesson}, and I did not believe it then.",
    "One time {trouble}, so {fix}, and I still laugh about it.",
    "My own low point was when {trouble}.",
    "It took me {number} attempts before it clicked.",
    "What helped me was {a tool}, which I had ignored for years.",
    "One tip from my side: {tip}.",
    "My {relation} always says the same: {tip}.",
    "You are not alone, I promise. Last time {trouble}, and in the end {fix}.",
    "I learned the hard way that {lesson}.",
    "At home we have a rule: {tip}.",
    "My {relation} would tell you that {lesson}.",
    "My first {item} was a small disaster, and I remember it fondly.",
    "I have only been {doing} for {number} weeks, so I still have a lot to learn.",
    "My {relation} and I talk about {items} more than is healthy.",
    "I gave up on {items} years ago, but posts like this make me wonder.",
    "I got into {subject} through my {relation}, who knows everything about {items}.",
    "There are days when {items} are all I can think about.",
    "People underestimate how much fun {doing} can be.",
    "I always keep {a tool} close by, so that I have no excuse.",
];

pub const QUESTIONS: &[&str] = &[
    "How long did it take you to feel comfortable?",
    "Would you do it again?",
    "Do you have more of this planned?",
    "What would you do differently next time?",
    "Where did you learn all this?",
    "What did your {relation} think of it?",
    "Is {a tool} really worth it?",
    "Any advice for somebody who is just starting with {items}?",
];

pub const FAREWELLS: &[&str] = &[
    "Thanks again!",
    "Looking forward to the next one.",
    "Greetings from a fellow beginner.",
    "Keep writing, please.",
    "I will let you know how it goes.",
    "Have a lovely week.",
    "I hope there is a second part.",
    "Say hello to your {relation} from me.",
    "Wishing you a good {season}.",
    "You made my day.",
];

pub const SEASONS: &[&str] = &["spring", "summer", "autumn", "winter"];

pub const NUMBERS: &[&str] = &["three", "four", "five", "six", "seven", "eight", "nine", "ten"];

pub const RELATIONS: &[&str] = &[
    "sister",
    "brother",
    "neighbour",
    "colleague",
    "father",
    "mother",
    "aunt",
    "uncle",
    "flatmate",
    "cousin",
    "best friend",
    "grandmother",
    "grandfather",
    "partner",
    "daughter",
    "son",
];

pub const MOMENTS: &[&str] = &[
    "last week",
    "last month",
    "the other day",
    "a few weeks ago",
    "two summers ago",
    "on Saturday",
    "last year",
    "just yesterday",
];

/// One sentence of a post.
#[derive(Debug, Clone, Copy)]
pub enum PostPart {
    Opening,
    Detail,
    Trouble,
    Lesson,
    Tool,
    Tip,
    Closing,
}

/// The paragraphs of a post.
pub const POST_OUTLINES: &[&[&[PostPart]]] = {
    use PostPart::{Closing, Detail, Lesson, Opening, Tip, Tool, Trouble};
    &[
        &[&[Opening, Detail], &[Trouble, Lesson], &[Tip, Closing]],
        &[&[Opening], &[Detail, Trouble, Detail], &[Lesson, Closing]],
        &[&[Opening, Trouble], &[Detail, Lesson]],
        &[&[Detail, Opening], &[Detail], &[Tool, Tip]],
        &[&[Opening, Detail, Detail], &[Lesson], &[Closing]],
        &[&[Opening], &[Tool, Detail], &[Tip, Closing]],
        &[&[Opening, Lesson], &[Detail, Trouble], &[Closing]],
        &[&[Detail], &[Opening, Trouble], &[Lesson, Tip]],
        &[&[Opening, Tool], &[Detail, Detail]],
    ]
};

/// One sentence of a comment.
#[derive(Debug, Clone, Copy)]
pub enum CommentPart {
    Reaction,
    Reply,
    Question,
    Farewell,
}

/// The sentences of a comment; one that stands here twice is chosen twice as often.
pub const COMMENT_OUTLINES: &[&[CommentPart]] = {
    use CommentPart::{Farewell, Question, Reaction, Reply};
    &[
        &[Reaction],
        &[Reaction, Reply],
        &[Reaction, Reply],
        &[Reply, Question],
        &[Reply, Reply],
        &[Reply, Reply, Farewell],
        &[Reaction, Question],
        &[Reaction, Farewell],
        &[Reaction, Reply, Question],
        &[Reaction, Reply, Reply],
        &[Reaction, Reply, Reply],
        &[Reaction, Reply, Farewell],
        &[Reply, Reply, Question],
        &[Reaction, Reply, Reply, Question],
        &[Reaction, Reply, Reply, Reply, Farewell],
    ]
};
