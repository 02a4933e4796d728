-- The blog in third normal form, with counts in the post, whose pages have room for them. Likes have the primary key that refuses a second one.
CREATE TABLE users (
  id uuid PRIMARY KEY,
  username text NOT NULL UNIQUE
);
CREATE TABLE posts (
  id uuid PRIMARY KEY,
  author uuid NOT NULL REFERENCES users,
  title text NOT NULL,
  content text NOT NULL,
  comment_count integer NOT NULL DEFAULT 0,
  like_count integer NOT NULL DEFAULT 0,
  creation_date timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 80);
CREATE TABLE comments (
  id uuid PRIMARY KEY,
  post uuid NOT NULL REFERENCES posts,
  author uuid NOT NULL REFERENCES users,
  content text NOT NULL,
  creation_date timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE likes (
  post uuid NOT NULL REFERENCES posts,
  liker uuid NOT NULL REFERENCES users,
  creation_date timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (post, liker)
);
-- The lists of the blog: a user's posts, the newest posts, a post's comments and likes.
CREATE INDEX ON posts (author, creation_date DESC, id);
CREATE INDEX ON posts (creation_date DESC, id);
CREATE INDEX ON comments (post, creation_date DESC, id);
CREATE INDEX ON likes (post, creation_date DESC, liker);

-- As many rows as `onehop seed --users :users --texts long` makes: 5 to 50 posts of a user, up to 25 comments
-- and up to 100 likes of a post.
SELECT setseed(0.5);
INSERT INTO users SELECT gen_random_uuid(), 'user-' || number FROM generate_series(1, :users) AS number;
CREATE TEMP TABLE numbered AS SELECT id, row_number() OVER () AS number FROM users;
INSERT INTO posts (id, author, title, content, creation_date)
  SELECT gen_random_uuid(), id, 'Post ' || post, repeat(md5(random()::text) || ' words of a post ', 20 + (random() * 40)::int),
         now() - random() * interval '3 years'
  FROM numbered CROSS JOIN LATERAL generate_series(1, 27 + hashtext(id::text) % 23) AS post;
INSERT INTO comments (id, post, author, content, creation_date)
  SELECT gen_random_uuid(), posts.id, numbered.id, repeat(md5(random()::text) || ' ', 4), now() - random() * interval '3 years'
  FROM (SELECT id, (random() * 25)::int AS many FROM posts) AS posts
       CROSS JOIN LATERAL generate_series(1, many) AS comment
       JOIN numbered ON numbered.number = 1 + (hashtext(posts.id::text || comment) & 2147483647) % :users;
INSERT INTO likes (post, liker, creation_date)
  SELECT posts.id, numbered.id, now() - random() * interval '3 years'
  FROM (SELECT id, (random() * 100)::int AS many FROM posts) AS posts
       CROSS JOIN LATERAL generate_series(1, many) AS liker
       JOIN numbered ON numbered.number = 1 + (hashtext(posts.id::text || liker) & 2147483647) % :users
  ON CONFLICT DO NOTHING;
UPDATE posts SET comment_count = (SELECT count(*) FROM comments WHERE post = posts.id),
                 like_count = (SELECT count(*) FROM likes WHERE post = posts.id);
VACUUM ANALYZE;
CHECKPOINT;
