import { useState } from "react";
import { useMutation, useQuery } from "urql";
import { Link, useSearchParams } from "wouter";
import { messageAt } from "../api/errors.js";
import { ask } from "../api/request.js";
import { NameTravels } from "../rename/NameTravels.js";
import { Failure } from "../ui/Failure.js";
import { TextField } from "../ui/Field.js";
import { FormError } from "../ui/FormError.js";
import { Notice } from "../ui/Notice.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { CatalogueDocument } from "./catalogue.generated.js";
import { NamesInProductsDocument } from "./copies.generated.js";
import { RenameCategoryDocument, RenameTagDocument } from "./staff.generated.js";

/** The longest name of a category or tag that the server accepts, in characters. */
const NAME_CHARS_MAX = 100;
/** The number of products that are looked at after a rename. */
const COPIES = 50;

interface Named {
  id: string;
  name: string;
}

/** Gives categories and tags other names, and shows the copies in products follow. */
export function StaffRename() {
  return (
    <>
      <header className="shop-intro">
        <h1>Rename a category or a tag</h1>
        <p>All products show the new name within moments.</p>
      </header>
      <Catalogue />
    </>
  );
}

function Catalogue() {
  const [{ data, error }, readAgain] = useQuery({ query: CatalogueDocument, requestPolicy: "cache-and-network" });
  const { productCategories: categories, productTags: tags } = data ?? {};
  if (categories == null || tags == null) {
    return error === undefined ? <SkeletonLines lines={4} /> : <Failure error={error} onRetry={readAgain} />;
  }
  if (categories.length + tags.length === 0) {
    return <Notice kind="shop" title="There are no categories and tags yet" />;
  }
  return <Rename categories={categories} tags={tags} />;
}

function Rename({ categories, tags }: { categories: readonly Named[]; tags: readonly Named[] }) {
  const [search] = useSearchParams();
  const all = [...categories, ...tags];
  const [chosen, setChosen] = useState(search.get("id") ?? "");
  const item = all.find(({ id }) => id === chosen) ?? all[0];
  const [name, setName] = useState("");
  const [renamed, setRenamed] = useState<Named | null>(null);
  const [renamingCategory, renameCategory] = useMutation(RenameCategoryDocument);
  const [renamingTag, renameTag] = useMutation(RenameTagDocument);
  const isCategory = categories.some(({ id }) => id === item?.id);
  const { fetching, error } = isCategory ? renamingCategory : renamingTag;
  const rename = async (id: string): Promise<void> => {
    const taken = isCategory
      ? (await renameCategory({ input: { productCategoryId: id, name } })).data?.updateProductCategory?.productCategory
      : (await renameTag({ input: { productTagId: id, name } })).data?.updateProductTag?.productTag;
    if (taken !== undefined) {
      setRenamed(taken);
      setName("");
    }
  };
  return (
    <>
      <form
        className="staff-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!fetching && item !== undefined) {
            void rename(item.id);
          }
        }}
      >
        <div className="field">
          <label htmlFor="staff-item">Category or tag</label>
          <select
            id="staff-item"
            value={item?.id ?? ""}
            onChange={(event) => {
              setChosen(event.target.value);
            }}
          >
            <Options label="Categories" items={categories} />
            <Options label="Tags" items={tags} />
          </select>
        </div>
        <TextField
          label="New name"
          value={name}
          charsMax={NAME_CHARS_MAX}
          error={messageAt(error, "name")}
          autoComplete="off"
          required
          onText={setName}
        />
        {messageAt(error, "name") === undefined && <FormError error={error} />}
        <button type="submit" className="button" disabled={fetching}>
          {fetching ? "One moment…" : "Rename"}
        </button>
      </form>
      {renamed !== null && (
        <section className="staff-renamed" aria-label="Progress of the rename">
          <p>
            <Link href={`/shop/${categories.some(({ id }) => id === renamed.id) ? "category" : "tag"}/${renamed.id}`}>
              <bdi>{renamed.name}</bdi>
            </Link>
          </p>
          <NameTravels
            key={`${renamed.id} ${renamed.name}`}
            name={renamed.name}
            unit="product"
            done="Done. The new name is shown everywhere."
            readCopies={(signal) => namesInProducts(renamed.id, signal)}
          />
        </section>
      )}
    </>
  );
}

function Options({ label, items }: { label: string; items: readonly Named[] }) {
  return (
    <optgroup label={label}>
      {items.map(({ id, name }) => (
        <option key={id} value={id} dir="auto">
          {name}
        </option>
      ))}
    </optgroup>
  );
}

/** The name of a category or tag in the copies that its products have. */
async function namesInProducts(id: string, signal: AbortSignal): Promise<string[]> {
  const { node } = (await ask(NamesInProductsDocument, { id, first: COPIES }, { signal })).data;
  if (node === null || !("products" in node)) {
    return [];
  }
  return node.products.nodes.map((product) =>
    "category" in product ? product.category.name : (product.tags.find((tag) => tag.id === id)?.name ?? ""),
  );
}
