import { useId, useState } from "react";
import { formatRequestCharge } from "../api/request-charge.js";
import { CostSwitch } from "../charges/CostSwitch.js";
import { useCostsShown } from "../charges/shown-costs.js";

export interface LastRequest {
  operationName: string | null;
  requestCharge: number | null;
}

export interface AccessTokenBarProps {
  accessToken: string | null;
  /** A token the server has just issued and that is not in use yet. */
  issuedToken: string | null;
  lastRequest: LastRequest | null;
  onChange: (text: string) => void;
}

/** Above the editor: the account of these requests, and the charge of the last one. */
export function AccessTokenBar({ accessToken, issuedToken, lastRequest, onChange }: AccessTokenBarProps) {
  const inputId = useId();
  const [isShown, setIsShown] = useState(false);
  const areCostsShown = useCostsShown();
  return (
    <header className="bar">
      <a className="bar-brand" href="/">
        <img src="/favicon.svg" alt="" width="24" height="24" /> Onehop
      </a>
      <div className="bar-token">
        <label htmlFor={inputId}>Access token</label>
        <input
          id={inputId}
          type={isShown ? "text" : "password"}
          value={accessToken ?? ""}
          placeholder="No token: run C1 to sign up or sign in"
          title="Sent as Authorization: Bearer. The headers editor takes precedence. Removed when you leave the page."
          autoComplete="off"
          data-1p-ignore
          data-lpignore="true"
          spellCheck={false}
          onChange={(event) => {
            onChange(event.target.value);
          }}
        />
        {accessToken !== null && (
          <button
            type="button"
            aria-pressed={isShown}
            aria-controls={inputId}
            onClick={() => {
              setIsShown(!isShown);
            }}
          >
            Show
          </button>
        )}
        {issuedToken !== null && (
          <button
            type="button"
            className="bar-primary"
            onClick={() => {
              onChange(issuedToken);
            }}
          >
            Use the new token
          </button>
        )}
        {accessToken !== null && (
          <button
            type="button"
            onClick={() => {
              onChange("");
            }}
          >
            Remove
          </button>
        )}
      </div>
      <output className="bar-charge" aria-label="Request charge of the last request">
        {lastRequest === null || !areCostsShown ? "" : chargeInWords(lastRequest)}
      </output>
      <CostSwitch />
    </header>
  );
}

function chargeInWords({ operationName, requestCharge }: LastRequest): string {
  return `${operationName ?? "Last request"}: ${formatRequestCharge(requestCharge)}`;
}
