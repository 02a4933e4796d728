import { useMutation, useQuery } from "urql";
import { Link, useLocation } from "wouter";
import { useSession } from "../api/session.js";
import { usePageTitle } from "../app/page-title.js";
import { NotFoundPage } from "../not-found/NotFoundPage.js";
import { useDraft } from "../ui/draft.js";
import { Failure } from "../ui/Failure.js";
import { Notice } from "../ui/Notice.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { PostForm } from "./PostForm.js";
import { PostToEditDocument, UpdatePostDocument } from "./write.generated.js";

/** Changes a post of one's own. */
export default function EditPage({ params: { id = "" } }: { params: Readonly<Record<string, string | undefined>> }) {
  usePageTitle("Edit");
  const session = useSession();
  const [{ data, error }, readAgain] = useQuery({ query: PostToEditDocument, variables: { id } });
  const post = data?.post;
  if (post != null) {
    return post.author.id === session?.user.id ? (
      <Edit post={post} userId={session.user.id} />
    ) : (
      <Notice heading="h1" title="This post is somebody else’s">
        <Link className="button" href={`/posts/${id}`}>Read it</Link>
      </Notice>
    );
  }
  if (error?.networkError !== undefined) {
    return <Failure error={error} onRetry={() => { readAgain({ requestPolicy: "network-only" }); }} />;
  }
  return data === undefined && error === undefined ? <SkeletonLines lines={10} /> : <NotFoundPage what="post" />;
}

function Edit({ post: { id, title, content }, userId }: {
  post: { id: string; title: string; content: string };
  userId: string;
}) {
  const { draft, change, forget, isKept } = useDraft(userId, `edit of ${id}`, { title, content });
  const [{ fetching, error }, updatePost] = useMutation(UpdatePostDocument);
  const [, navigate] = useLocation();
  return (
    <>
      <h1>Edit</h1>
      <PostForm
        {...draft.fields}
        error={error}
        isSending={fetching}
        label="Save"
        onChange={change}
        onSend={() => {
          void updatePost({ input: { postId: id, ...draft.fields } }).then((result) => {
            if (result.data !== undefined) {
              forget();
              navigate(`/posts/${id}`);
            }
          });
        }}
      >
        <Link className="button button-plain" href={`/posts/${id}`}>Back to the post</Link>
        {isKept && (
          <>
            <button type="button" className="quiet" onClick={forget}>Discard changes</button>
            <span className="post-form-draft">Draft kept on this device</span>
          </>
        )}
      </PostForm>
    </>
  );
}
