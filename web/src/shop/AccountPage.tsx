import { useState } from "react";
import { Provider, useMutation, useQuery } from "urql";
import { Link } from "wouter";
import { PasswordChange } from "../account/PasswordChange.js";
import { fieldOf, messageOf } from "../api/errors.js";
import { usePageTitle } from "../app/page-title.js";
import { Failure } from "../ui/Failure.js";
import { TextField } from "../ui/Field.js";
import { FormError } from "../ui/FormError.js";
import { Notice } from "../ui/Notice.js";
import { SettingsPart } from "../ui/SettingsPart.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { AddressBook } from "./AddressBook.js";
import {
  ChangeCustomerEmailAddressDocument,
  ChangeCustomerPasswordDocument,
  CustomerAccountDocument,
  SignOutCustomerEverywhereDocument,
} from "./customer.generated.js";
import { endCustomerSession, startCustomerSession, useCustomer, useCustomerClient } from "./customer-session.js";
import { ShopFrame } from "./ShopFrame.js";

/** The account of the signed-in customer: password, e-mail address, and signing out everywhere. */
export default function AccountPage() {
  usePageTitle("Your account");
  const customer = useCustomer();
  const client = useCustomerClient();
  return (
    <ShopFrame>
      {customer === null ? (
        <Notice heading="h1" kind="shop" title="Sign in to see your account">
          <Link className="button" href="/shop/signin?next=%2Fshop%2Faccount">
            Sign in to the shop
          </Link>
        </Notice>
      ) : (
        <Provider value={client}>
          <div className="customer-account">
            <h1>Your account</h1>
            <Account />
          </div>
        </Provider>
      )}
    </ShopFrame>
  );
}

function Account() {
  const [{ data, error }, readAgain] = useQuery({ query: CustomerAccountDocument });
  const customer = data?.viewerCustomer;
  if (customer == null) {
    return error === undefined ? <SkeletonLines lines={3} /> : <Failure error={error} onRetry={readAgain} />;
  }
  return (
    <>
      <SettingsPart title="E-mail address">
        <EmailAddress current={customer.emailAddress} />
      </SettingsPart>
      <SettingsPart title="Delivery addresses">
        <AddressBook />
      </SettingsPart>
      <SettingsPart title="Password">
        <Password emailAddress={customer.emailAddress} />
      </SettingsPart>
      <SettingsPart title="Other browsers">
        <p>Sign out wherever you are signed in, on this device as well.</p>
        <SignOutEverywhere />
      </SettingsPart>
    </>
  );
}

function EmailAddress({ current }: { current: string }) {
  const [emailAddress, setEmailAddress] = useState<string | null>(null);
  const [currentPassword, setCurrentPassword] = useState("");
  const [{ fetching, error }, change] = useMutation(ChangeCustomerEmailAddressDocument);
  const field = fieldOf(error);

  const close = (): void => {
    setEmailAddress(null);
    setCurrentPassword("");
  };
  if (emailAddress === null) {
    return (
      <div className="customer-email">
        <p>
          <bdi>{current}</bdi>
        </p>
        <button
          type="button"
          className="button button-plain"
          onClick={() => {
            setEmailAddress("");
          }}
        >
          Change e-mail address
        </button>
      </div>
    );
  }
  const submit = async (): Promise<void> => {
    const { data } = await change({ input: { emailAddress, currentPassword } });
    if (data?.changeCustomerEmailAddress != null) {
      close();
    }
  };
  return (
    <form
      className="settings-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!fetching) {
          void submit();
        }
      }}
    >
      <TextField
        label="New e-mail address"
        type="email"
        value={emailAddress}
        error={
          error !== undefined && field === "emailAddress"
            ? messageOf(error).replace(/^emailAddress\b/i, "The e-mail address")
            : undefined
        }
        autoComplete="email"
        required
        onText={setEmailAddress}
      />
      <TextField
        label="Password"
        type="password"
        value={currentPassword}
        error={field === "currentPassword" ? "Wrong password." : undefined}
        autoComplete="current-password"
        required
        onText={setCurrentPassword}
      />
      {field !== "emailAddress" && field !== "currentPassword" && <FormError error={error} />}
      <button type="submit" className="button" disabled={fetching}>
        {fetching ? "One moment…" : "Change the e-mail address"}
      </button>{" "}
      <button type="button" className="quiet" onClick={close}>
        Cancel
      </button>
    </form>
  );
}

function Password({ emailAddress }: { emailAddress: string }) {
  const [{ fetching, error }, change] = useMutation(ChangeCustomerPasswordDocument);
  return (
    <PasswordChange
      login={emailAddress}
      fetching={fetching}
      error={error}
      onChange={async (input) => {
        const changed = (await change({ input })).data?.changeCustomerPassword;
        if (changed != null) {
          startCustomerSession(changed);
        }
        return changed != null;
      }}
    />
  );
}

function SignOutEverywhere() {
  const [{ fetching, error }, signOut] = useMutation(SignOutCustomerEverywhereDocument);
  const submit = async (): Promise<void> => {
    if ((await signOut({})).data?.signOutCustomer != null) {
      endCustomerSession();
    }
  };
  return (
    <div className="sign-out-everywhere">
      <button
        type="button"
        className="button button-plain"
        disabled={fetching}
        onClick={() => {
          void submit();
        }}
      >
        Sign out of all browsers
      </button>
      <FormError error={error} />
    </div>
  );
}
