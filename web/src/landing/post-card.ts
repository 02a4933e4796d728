import { graphql, readFragment, type FragmentOf } from "../api/graphql.js";
import { element } from "./element.js";

export const PostCardFragment = graphql(`
  fragment PostCard on Post {
    title
    summary
    creationDate
    commentCount
    likeCount
    author {
      id
      username
    }
  }
`);

const dateFormat = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

/** A post in short form. Everything the server sent is set as text. */
export function postCard(data: FragmentOf<typeof PostCardFragment>): HTMLElement {
  const post = readFragment(PostCardFragment, data);
  return element("article", { class: "post" }, [
    element("h3", {}, [post.title]),
    element("p", { class: "byline" }, [
      element("span", { class: "author" }, [post.author.username]),
      " · ",
      element("time", { datetime: post.creationDate }, [formatDate(post.creationDate)]),
    ]),
    element("p", { class: "summary" }, [post.summary]),
    element("p", { class: "counts" }, [
      element("span", {}, [counted(post.commentCount, "comment")]),
      element("span", {}, [counted(post.likeCount, "like")]),
    ]),
  ]);
}

function formatDate(instant: string): string {
  const date = new Date(instant);
  return Number.isNaN(date.getTime()) ? instant : dateFormat.format(date);
}

function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
