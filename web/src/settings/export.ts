/** A user's data as one JSON document: posts with their texts, comments and likes. */
import { accessToken } from "../api/session.js";
import { ask } from "../api/request.js";
import { allPages } from "./all-pages.js";
import { ExportCommentsDocument, ExportLikesDocument, ExportPostsDocument } from "./settings.generated.js";

/** Items of one page. Texts of posts are long. */
const PAGE = 50;

/** The document. Throws where a page cannot be read. */
export async function exportOf(user: { id: string; username: string }): Promise<string> {
  const variables = (after: string | null) => ({ id: user.id, first: PAGE, ...(after === null ? {} : { after }) });
  const options = async () => ({ accessToken: await accessToken() });
  const posts = await allPages(async (after) => {
    const { data } = await ask(ExportPostsDocument, variables(after), await options());
    return data.user?.posts;
  });
  const comments = await allPages(async (after) => {
    const { data } = await ask(ExportCommentsDocument, variables(after), await options());
    return data.user?.comments;
  });
  const likes = await allPages(async (after) => {
    const { data } = await ask(ExportLikesDocument, variables(after), await options());
    return data.user?.likes;
  });
  const exported = { exportedAt: new Date().toISOString(), user, posts, comments, likes };
  return `${JSON.stringify(exported, null, 2)}\n`;
}
