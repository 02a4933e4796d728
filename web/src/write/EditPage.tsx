import { useMutation, useQuery } from "urql";
import { Link, useLocation } from "wouter";
import { useContinuation } from "../account/use-continuation.js";
import { codeOf } from "../api/errors.js";
import { useSession } from "../api/session.js";
import { usePageTitle } from "../app/page-title.js";
import { NotFoundPage } from "../not-found/NotFoundPage.js";
import { useDraft } from "../ui/draft.js";
import { Failure } from "../ui/Failure.js";
import { Notice } from "../ui/Notice.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { Conflicts } from "./Conflicts.js";
import { changesOf, editOf, keptMine, merged, takenSaved, type EditDraft } from "./merge.js";
import { PostForm } from "./PostForm.js";
import { lineOf, tagsOf } from "./tags.js";
import { PostToEditDocument, UpdatePostDocument, type PostToEditQuery } from "./write.generated.js";

type PostToEdit = NonNullable<PostToEditQuery["post"]>;

/** Changes a post of one's own. Changes from elsewhere meanwhile are shown, and never overwritten unseen. */
export default function EditPage({ params: { id = "" } }: { params: Readonly<Record<string, string | undefined>> }) {
  usePageTitle("Edit post");
  const session = useSession();
  // The cache may be older than the server's text, which would be overwritten.
  const [{ data, error }, execute] = useQuery({
    query: PostToEditDocument,
    variables: { id },
    requestPolicy: "cache-and-network",
  });
  const readAgain = (): void => {
    execute({ requestPolicy: "network-only" });
  };
  const post = data?.post;
  if (post != null) {
    // Where the session has ended the draft stays in view: saving asks to sign in again.
    const isAuthor = session?.user.id === post.author.id;
    return session !== null && (post.viewerCanUpdate || (isAuthor && session.hasEnded)) ? (
      <Edit post={post} userId={session.user.id} readAgain={readAgain} />
    ) : (
      <Notice heading="h1" title="Only the author can edit this post">
        <Link className="button" href={`/posts/${id}`}>
          Read the post
        </Link>
      </Notice>
    );
  }
  if (error?.networkError !== undefined) {
    return <Failure error={error} onRetry={readAgain} />;
  }
  return data === undefined && error === undefined ? <SkeletonLines lines={10} /> : <NotFoundPage what="post" />;
}

function Edit({ post, userId, readAgain }: { post: PostToEdit; userId: string; readAgain: () => void }) {
  const { id, title, content } = post;
  const saved = { title, content, tags: lineOf(post.tags) };
  const { draft, change, forget, isKept } = useDraft(userId, `edit of ${id}`, editOf(saved));
  const [{ fetching, error }, updatePost] = useMutation(UpdatePostDocument);
  const [, navigate] = useLocation();
  const isLate = codeOf(error) === "CONFLICT";
  const edit = isKept ? draft.fields : editOf(saved);
  const merge = merged(edit, saved);
  const changeEdit = (fields: Partial<EditDraft>): void => {
    change({ ...edit, ...fields });
  };
  const leave = (): void => {
    forget();
    navigate(`/posts/${id}`);
  };
  const save = async (): Promise<void> => {
    const { tags, ...changes } = changesOf(merge.texts, saved);
    if (tags === undefined && Object.keys(changes).length === 0) {
      leave();
      return;
    }
    const input = { postId: id, ifVersion: post.version, ...changes };
    const result = await updatePost({ input: tags === undefined ? input : { ...input, tags: tagsOf(tags) } });
    if (result.data?.updatePost != null) {
      leave();
    } else if (codeOf(result.error) === "CONFLICT") {
      readAgain();
    }
  };
  useContinuation(error, () => {
    void save();
  });
  return (
    <>
      <h1>Edit post</h1>
      {isLate && (
        <p role="alert" className="field-error">
          This post was changed elsewhere before you saved. Review the changes and save again.
        </p>
      )}
      <Conflicts
        merge={merge}
        saved={saved}
        onKeep={(field) => {
          changeEdit(keptMine(field, saved));
        }}
        onTake={(field) => {
          changeEdit(takenSaved(field, saved));
        }}
      />
      <PostForm
        {...merge.texts}
        error={isLate ? undefined : error}
        isSending={fetching}
        isBlocked={merge.conflicts.length > 0}
        label="Save"
        onChange={changeEdit}
        onSend={() => void save()}
      >
        <Link className="button button-plain" href={`/posts/${id}`}>
          Back to the post
        </Link>
        {isKept && (
          <>
            <button type="button" className="quiet" onClick={forget}>
              Discard changes
            </button>
            <span className="post-form-draft">Draft saved on this device</span>
          </>
        )}
      </PostForm>
    </>
  );
}
