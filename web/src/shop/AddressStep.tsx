import { useState } from "react";
import { useMutation, useQuery } from "urql";
import { useLocation } from "wouter";

import { Failure } from "../ui/Failure.js";
import { FormError } from "../ui/FormError.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { CustomerAddressesDocument, SaveAddressesDocument, type AddressFragment } from "./address.generated.js";
import { AddressForm } from "./AddressForm.js";
import { AddressLines } from "./AddressLines.js";
import { withFirst } from "./addresses.js";
import { pathOfStep } from "./checkout.js";
import type { Customer } from "./customer-session.js";

/** The second step of the checkout: the delivery address, a known one or a new one. */
export function AddressStep({ customer }: { customer: Customer }) {
  const [{ data, error }, readAgain] = useQuery({
    query: CustomerAddressesDocument,
    requestPolicy: "cache-and-network",
  });
  const [isNew, setIsNew] = useState(false);
  const [, navigate] = useLocation();
  const review = (): void => {
    navigate(pathOfStep("review"));
  };
  const addresses = data?.viewerCustomer?.addresses;
  if (addresses === undefined) {
    return error === undefined ? <SkeletonLines lines={6} /> : <Failure error={error} onRetry={readAgain} />;
  }
  return isNew || addresses.length === 0 ? (
    <AddressForm
      customerId={customer.id}
      known={addresses}
      onSaved={review}
      {...(addresses.length === 0
        ? {}
        : {
            onCancel: () => {
              setIsNew(false);
            },
          })}
    />
  ) : (
    <KnownAddresses
      customer={customer}
      addresses={addresses}
      onChosen={review}
      onNew={() => {
        setIsNew(true);
      }}
    />
  );
}

/** The customer's addresses to choose from. The chosen one becomes the first. */
function KnownAddresses({
  customer: { firstName, lastName },
  addresses,
  onChosen,
  onNew,
}: {
  customer: Customer;
  addresses: readonly AddressFragment[];
  onChosen: () => void;
  onNew: () => void;
}) {
  const [chosen, setChosen] = useState(0);
  const [{ fetching, error }, save] = useMutation(SaveAddressesDocument);
  const submit = async (): Promise<void> => {
    const address = addresses[chosen];
    if (address === undefined || chosen === 0) {
      onChosen();
      return;
    }
    const { data } = await save({ input: { addresses: withFirst(addresses, address) } });
    if (data?.updateCustomer != null) {
      onChosen();
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!fetching) {
          void submit();
        }
      }}
    >
      <fieldset className="address-choices">
        <legend className="unseen">Delivery address</legend>
        {addresses.map((address, index) => (
          <label key={index} className="address-choice">
            <input
              type="radio"
              name="address"
              checked={chosen === index}
              onChange={() => {
                setChosen(index);
              }}
            />
            <AddressLines name={`${firstName} ${lastName}`} address={address} />
          </label>
        ))}
      </fieldset>
      <FormError error={error} />
      <div className="checkout-actions">
        <button type="submit" className="button" disabled={fetching}>
          {fetching ? "One moment…" : "Deliver to this address"}
        </button>
        <button type="button" className="quiet" onClick={onNew}>
          Add another address
        </button>
      </div>
    </form>
  );
}
