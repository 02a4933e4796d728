import { useState } from "react";
import { useMutation, useQuery } from "urql";
import { Link, useLocation, useSearchParams } from "wouter";
import { messageAt } from "../api/errors.js";
import { Confirm } from "../ui/Confirm.js";
import { Failure } from "../ui/Failure.js";
import { TextArea, TextField } from "../ui/Field.js";
import { FormError } from "../ui/FormError.js";
import { Notice } from "../ui/Notice.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { CatalogueDocument } from "./catalogue.generated.js";
import { formatMoney } from "./money.js";
import { ProductPageDocument, type ProductPageQuery } from "./product.generated.js";
import {
  CreateProductDocument,
  DeleteProductDocument,
  UpdateProductDocument,
  type UpdateProductInput,
} from "./staff.generated.js";

/** The longest texts that the server accepts, in characters. */
const NAME_CHARS_MAX = 200;
const DESCRIPTION_CHARS_MAX = 2_000;
const SKU_CHARS_MAX = 40;
/** The most tags of a product. */
const TAGS_MAX = 10;
/** The currency of new products. */
const CURRENCY = "EUR";

type Product = NonNullable<ProductPageQuery["product"]>;

/** A new product, or the product in the address. */
export function StaffProducts() {
  const [search] = useSearchParams();
  const id = search.get("product");
  return id === null ? <NewProduct /> : <EditedProduct key={id} id={id} />;
}

function NewProduct() {
  const [{ data, error: unread }, readAgain] = useQuery({ query: CatalogueDocument });
  const [{ fetching, error }, createProduct] = useMutation(CreateProductDocument);
  const [texts, setTexts] = useState({ name: "", sku: "", description: "", amount: "" });
  const [categoryId, setCategoryId] = useState("");
  const [tagIds, setTagIds] = useState<readonly string[]>([]);
  const [created, setCreated] = useState<{ id: string; name: string } | null>(null);
  const { productCategories: categories, productTags: tags } = data ?? {};
  if (categories == null || tags == null) {
    return unread === undefined ? <SkeletonLines lines={6} /> : <Failure error={unread} onRetry={readAgain} />;
  }
  const [first] = categories;
  if (first === undefined) {
    return <Notice title="There are no categories yet" />;
  }
  const set = (change: Partial<typeof texts>): void => {
    setTexts((now) => ({ ...now, ...change }));
  };
  const create = async (): Promise<void> => {
    const { name, sku, description, amount } = texts;
    const price = { amount: amount.trim(), currencyCode: CURRENCY };
    const input = { name, sku, description, price, categoryId: categoryId === "" ? first.id : categoryId, tagIds };
    const product = (await createProduct({ input: { ...input, tagIds: [...tagIds] } })).data?.createProduct?.product;
    if (product !== undefined) {
      setCreated(product);
      setTexts({ name: "", sku: "", description: "", amount: "" });
      setTagIds([]);
    }
  };
  return (
    <>
      <header className="shop-intro">
        <h1>Add a product</h1>
      </header>
      <p className="staff-done" role="status">
        {created !== null && (
          <>
            <Link href={`/shop/product/${created.id}`}>
              <bdi>{created.name}</bdi>
            </Link>{" "}
            is in the shop.
          </>
        )}
      </p>
      <form
        className="staff-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!fetching) {
            void create();
          }
        }}
      >
        <ProductTexts texts={texts} error={error} onTexts={set} />
        <TextField
          label="Item number"
          value={texts.sku}
          charsMax={SKU_CHARS_MAX}
          error={messageAt(error, "sku")}
          autoComplete="off"
          required
          onText={(sku) => {
            set({ sku });
          }}
        />
        <div className="field">
          <label htmlFor="staff-category">Category</label>
          <select
            id="staff-category"
            value={categoryId === "" ? first.id : categoryId}
            onChange={(event) => {
              setCategoryId(event.target.value);
            }}
          >
            {categories.map(({ id, name }) => (
              <option key={id} value={id} dir="auto">
                {name}
              </option>
            ))}
          </select>
        </div>
        <TagChoice tags={tags} chosen={tagIds} onChosen={setTagIds} />
        {messageAt(error, "tagIds") !== undefined && <p className="field-error">{messageAt(error, "tagIds")}</p>}
        <FormError error={error} />
        <button type="submit" className="button" disabled={fetching}>
          {fetching ? "One moment…" : "Add product"}
        </button>
      </form>
    </>
  );
}

function TagChoice({
  tags,
  chosen,
  onChosen,
}: {
  tags: readonly { id: string; name: string }[];
  chosen: readonly string[];
  onChosen: (ids: readonly string[]) => void;
}) {
  return (
    <fieldset className="staff-tags">
      <legend>Tags, at most {TAGS_MAX}</legend>
      {tags.map(({ id, name }) => (
        <label key={id}>
          <input
            type="checkbox"
            checked={chosen.includes(id)}
            disabled={!chosen.includes(id) && chosen.length >= TAGS_MAX}
            onChange={({ target }) => {
              onChosen(target.checked ? [...chosen, id] : chosen.filter((other) => other !== id));
            }}
          />{" "}
          <bdi>{name}</bdi>
        </label>
      ))}
    </fieldset>
  );
}

function EditedProduct({ id }: { id: string }) {
  const [{ data, error }, readAgain] = useQuery({
    query: ProductPageDocument,
    variables: { id },
    requestPolicy: "cache-and-network",
  });
  const product = data?.product;
  if (product == null) {
    return data === undefined && error === undefined ? (
      <SkeletonLines lines={6} />
    ) : error === undefined ? (
      <Notice heading="h1" title="Product not found" />
    ) : (
      <Failure error={error} onRetry={readAgain} />
    );
  }
  return <EditProduct product={product} />;
}

type ProductTextFields = Record<"name" | "description" | "amount", string>;

/** The fields that staff edit. */
interface ProductFields extends ProductTextFields {
  isSoldOut: boolean;
  tagIds: readonly string[];
}

function fieldsOf({ name, description, price, isSoldOut, tags }: Product): ProductFields {
  return { name, description, amount: price.amount, isSoldOut, tagIds: tags.map(({ id }) => id) };
}

/** The fields with other values than the product's. Only these are sent: changes from another form stay. */
function changesOf(product: Product, fields: ProductFields): Omit<UpdateProductInput, "productId"> {
  const before = fieldsOf(product);
  const { name, description, isSoldOut, tagIds } = fields;
  const amount = fields.amount.trim();
  const hasOtherTags = tagIds.length !== before.tagIds.length || tagIds.some((id) => !before.tagIds.includes(id));
  return {
    ...(name !== before.name && { name }),
    ...(description !== before.description && { description }),
    ...(amount !== before.amount && { price: { amount, currencyCode: product.price.currencyCode } }),
    ...(isSoldOut !== before.isSoldOut && { isSoldOut }),
    ...(hasOtherTags && { tagIds: [...tagIds] }),
  };
}

function EditProduct({ product }: { product: Product }) {
  const [{ fetching, error }, updateProduct] = useMutation(UpdateProductDocument);
  const [deleting, deleteProduct] = useMutation(DeleteProductDocument);
  const [{ data: catalogue }] = useQuery({ query: CatalogueDocument });
  const [, navigate] = useLocation();
  const { id, category, price } = product;
  const [edits, setEdits] = useState<Partial<ProductFields>>({});
  const [hasSaved, setHasSaved] = useState(false);
  // Unedited fields follow the product.
  const fields = { ...fieldsOf(product), ...edits };
  const edit = (change: Partial<ProductFields>): void => {
    setHasSaved(false);
    setEdits((now) => ({ ...now, ...change }));
  };
  const save = async (): Promise<void> => {
    const input = changesOf(product, fields);
    if (Object.keys(input).length > 0) {
      const result = await updateProduct({ input: { productId: id, ...input } });
      if (result.error !== undefined) {
        return;
      }
    }
    setHasSaved(true);
    // Edits made during the request stay.
    setEdits((now) => (now === edits ? {} : now));
  };
  return (
    <>
      <header className="shop-intro">
        <p className="breadcrumb">
          <Link href={`/shop/product/${id}`}>Back to the product</Link>
        </p>
        <h1>Edit product</h1>
      </header>
      <form
        className="staff-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!fetching) {
            void save();
          }
        }}
      >
        <ProductTexts texts={fields} error={error} onTexts={edit} />
        <label className="staff-sold-out">
          <input
            type="checkbox"
            checked={fields.isSoldOut}
            onChange={({ target }) => {
              edit({ isSoldOut: target.checked });
            }}
          />{" "}
          Sold out
        </label>
        {catalogue?.productTags != null && (
          <TagChoice
            tags={catalogue.productTags}
            chosen={fields.tagIds}
            onChosen={(tagIds) => {
              edit({ tagIds });
            }}
          />
        )}
        {messageAt(error, "tagIds") !== undefined && <p className="field-error">{messageAt(error, "tagIds")}</p>}
        <FormError error={error} />
        <div className="checkout-actions">
          <button type="submit" className="button" disabled={fetching}>
            {fetching ? "One moment…" : "Save"}
          </button>
          <Confirm
            label="Withdraw product"
            question="Withdraw this product from the shop?"
            keep="Keep product"
            className="quiet"
            isBusy={deleting.fetching}
            onConfirm={() => {
              void deleteProduct({ input: { productId: id } }).then((result) => {
                if (result.error === undefined) {
                  navigate(`/shop/category/${category.id}`, { replace: true });
                }
              });
            }}
          />
        </div>
        <FormError error={deleting.error} />
        <p className="staff-done" role="status">
          {hasSaved && `Saved. The price is ${formatMoney(price)}; placed orders keep theirs.`}
        </p>
      </form>
    </>
  );
}

/** The fields of a product that change. */
function ProductTexts({
  texts: { name, description, amount },
  error,
  onTexts,
}: {
  texts: ProductTextFields;
  error: Parameters<typeof messageAt>[0];
  onTexts: (change: Partial<ProductTextFields>) => void;
}) {
  return (
    <>
      <TextField
        label="Name"
        value={name}
        charsMax={NAME_CHARS_MAX}
        error={messageAt(error, "name")}
        autoComplete="off"
        required
        onText={(text) => {
          onTexts({ name: text });
        }}
      />
      <TextArea
        label="Description"
        value={description}
        charsMax={DESCRIPTION_CHARS_MAX}
        error={messageAt(error, "description")}
        rows={4}
        required
        onText={(text) => {
          onTexts({ description: text });
        }}
      />
      <TextField
        label="Price"
        value={amount}
        error={messageAt(error, "amount")}
        hint={`In ${CURRENCY}, such as 12.50`}
        inputMode="decimal"
        autoComplete="off"
        required
        onText={(text) => {
          onTexts({ amount: text });
        }}
      />
    </>
  );
}
