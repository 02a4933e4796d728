import { useMutation, useQuery } from "urql";
import { Failure } from "../ui/Failure.js";
import { FormError } from "../ui/FormError.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { CustomerAddressesDocument, SaveAddressesDocument } from "./address.generated.js";
import { AddressLines } from "./AddressLines.js";
import { inputOf, linesOf } from "./addresses.js";

/** The delivery addresses of the signed-in customer. The checkout adds them; here they are removed. */
export function AddressBook() {
  const [{ data, error }, readAgain] = useQuery({
    query: CustomerAddressesDocument,
    requestPolicy: "cache-and-network",
  });
  const [saving, save] = useMutation(SaveAddressesDocument);
  const addresses = data?.viewerCustomer?.addresses;
  if (addresses === undefined) {
    return error === undefined ? <SkeletonLines lines={3} /> : <Failure error={error} onRetry={readAgain} />;
  }
  const remove = (index: number): void => {
    void save({ input: { addresses: addresses.filter((_, other) => other !== index).map(inputOf) } });
  };
  return (
    <div className="address-book">
      {addresses.length === 0 && <p className="shop-note">The checkout asks for your first address.</p>}
      <ul className="address-list">
        {addresses.map((address, index) => (
          <li key={linesOf(address).join("\n")}>
            <AddressLines address={address} />
            <button
              type="button"
              className="quiet"
              disabled={saving.fetching}
              onClick={() => {
                remove(index);
              }}
            >
              Remove<span className="unseen"> {address.addressLine1}</span>
            </button>
          </li>
        ))}
      </ul>
      <FormError error={saving.error} />
    </div>
  );
}
