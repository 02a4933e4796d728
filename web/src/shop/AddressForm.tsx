import { useMutation } from "urql";
import { messageAt } from "../api/errors.js";
import { FormError } from "../ui/FormError.js";
import { useDraft } from "../ui/draft.js";
import { TextField } from "../ui/Field.js";
import { SaveAddressesDocument, type AddressFragment } from "./address.generated.js";
import { emptyAddress, LINE_CHARS_MAX, withFirst, ZIP_CODE_CHARS_MAX, type TypedAddress } from "./addresses.js";

const FIELDS: readonly {
  name: keyof TypedAddress;
  label: string;
  autoComplete: string;
  isOptional?: boolean;
  charsMax?: number;
}[] = [
  { name: "addressLine1", label: "Street and number", autoComplete: "address-line1" },
  { name: "addressLine2", label: "Flat, floor or company (optional)", autoComplete: "address-line2", isOptional: true },
  { name: "zipCode", label: "Postal code", autoComplete: "postal-code", charsMax: ZIP_CODE_CHARS_MAX },
  { name: "city", label: "City", autoComplete: "address-level2" },
  { name: "state", label: "State or province (optional)", autoComplete: "address-level1", isOptional: true },
  { name: "country", label: "Country", autoComplete: "country-name" },
];

/** A new delivery address. The typed text outlives a reload. */
export function AddressForm({
  customerId,
  known,
  onSaved,
  onCancel,
}: {
  customerId: string;
  known: readonly AddressFragment[];
  onSaved: () => void;
  onCancel?: () => void;
}) {
  const { draft, change, forget } = useDraft(customerId, "address", emptyAddress);
  const [{ fetching, error }, save] = useMutation(SaveAddressesDocument);
  const isAtField = FIELDS.some(({ name }) => messageAt(error, name) !== undefined);
  const submit = async (): Promise<void> => {
    const { data } = await save({ input: { addresses: withFirst(known, draft.fields) } });
    if (data?.updateCustomer != null) {
      forget();
      onSaved();
    }
  };
  return (
    <form
      className="address-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!fetching) {
          void submit();
        }
      }}
    >
      {FIELDS.map(({ name, label, autoComplete, isOptional = false, charsMax = LINE_CHARS_MAX }) => (
        <TextField
          key={name}
          label={label}
          value={draft.fields[name]}
          error={messageAt(error, name)?.replace(name, label)}
          autoComplete={autoComplete}
          maxLength={charsMax}
          required={!isOptional}
          onText={(text) => {
            change({ [name]: text });
          }}
        />
      ))}
      {!isAtField && <FormError error={error} />}
      <div className="checkout-actions">
        <button type="submit" className="button" disabled={fetching}>
          {fetching ? "One moment…" : "Deliver to this address"}
        </button>
        {onCancel !== undefined && (
          <button type="button" className="quiet" onClick={onCancel}>
            Cancel
          </button>
        )}
      </div>
    </form>
  );
}
