import type { AddressFragment } from "./address.generated.js";
import { linesOf } from "./addresses.js";

/** A postal address, in lines. */
export function AddressLines({ name, address }: { name?: string; address: AddressFragment }) {
  return (
    <address className="address" dir="auto">
      {[...(name === undefined ? [] : [name]), ...linesOf(address)].map((line, index) => (
        <span key={index}>{line}</span>
      ))}
    </address>
  );
}
