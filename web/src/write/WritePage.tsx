import { useMutation } from "urql";
import { Link, useLocation } from "wouter";
import { useContinuation } from "../account/use-continuation.js";
import { useSession } from "../api/session.js";
import { usePageTitle } from "../app/page-title.js";
import { useDraft } from "../ui/draft.js";
import { Notice } from "../ui/Notice.js";
import { PostForm } from "./PostForm.js";
import { tagsOf } from "./tags.js";
import { CreatePostDocument } from "./write.generated.js";

/** Writes a post. The draft stays on this device until the server has taken it. */
export default function WritePage() {
  usePageTitle("Write a post");
  const session = useSession();
  const { draft, change, forget, isKept } = useDraft(session?.user.id ?? null, "post", {
    title: "",
    content: "",
    tags: "",
  });
  const [{ fetching, error }, createPost] = useMutation(CreatePostDocument);
  const [, navigate] = useLocation();
  const publish = async (): Promise<void> => {
    const { title, content, tags } = draft.fields;
    const { idempotencyKey } = draft;
    const { data } = await createPost({ input: { title, content, tags: tagsOf(tags), idempotencyKey } });
    if (data?.createPost != null) {
      forget();
      navigate(`/posts/${data.createPost.post.id}`);
    }
  };
  useContinuation(error, () => {
    void publish();
  });
  if (session === null) {
    return (
      <Notice heading="h1" title="Sign in to write">
        <Link className="button" href="/signin?next=%2Fwrite">
          Sign in
        </Link>
      </Notice>
    );
  }
  return (
    <>
      <h1>Write a post</h1>
      <PostForm
        {...draft.fields}
        error={error}
        isSending={fetching}
        label="Publish"
        onChange={change}
        onSend={() => {
          void publish();
        }}
      >
        {isKept && (
          <>
            <button type="button" className="quiet" onClick={forget}>
              Discard
            </button>
            <span className="post-form-draft">Draft saved on this device</span>
          </>
        )}
      </PostForm>
    </>
  );
}
