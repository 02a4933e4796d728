/** Postal addresses of a customer: the typed form, and the list. Its first item is the delivery address. */
import type { AddressFragment } from "./address.generated.js";

/** The most addresses that the server keeps for a customer. */
export const ADDRESSES_MAX = 10;
/** The most characters of a line of an address. */
export const LINE_CHARS_MAX = 200;
/** The most characters of a postal code. */
export const ZIP_CODE_CHARS_MAX = 20;

export const emptyAddress = {
  addressLine1: "",
  addressLine2: "",
  zipCode: "",
  city: "",
  state: "",
  country: "",
};

export type TypedAddress = typeof emptyAddress;

/** An address as the API takes it: optional lines without text are left out. */
export type AddressInput = Omit<TypedAddress, "addressLine2" | "state"> & { addressLine2?: string; state?: string };

export function inputOf(address: TypedAddress | AddressFragment): AddressInput {
  const { addressLine1, zipCode, city, country } = address;
  const addressLine2 = address.addressLine2?.trim() ?? "";
  const state = address.state?.trim() ?? "";
  return {
    addressLine1: addressLine1.trim(),
    ...(addressLine2 === "" ? {} : { addressLine2 }),
    zipCode: zipCode.trim(),
    city: city.trim(),
    ...(state === "" ? {} : { state }),
    country: country.trim(),
  };
}

/** The list with an address as its first; the oldest makes room. An address that is there moves. */
export function withFirst(
  addresses: readonly AddressFragment[],
  first: TypedAddress | AddressFragment,
): AddressInput[] {
  const input = inputOf(first);
  const others = addresses.map(inputOf).filter((each) => JSON.stringify(each) !== JSON.stringify(input));
  return [input, ...others].slice(0, ADDRESSES_MAX);
}

/** The address in lines, as it stands on an envelope. */
export function linesOf({ addressLine1, addressLine2, zipCode, city, state, country }: AddressFragment): string[] {
  const lines = [addressLine1, addressLine2, `${zipCode} ${city}`, state, country];
  return lines.filter((line) => line !== null && line !== "") as string[];
}
