import { Link } from "wouter";
import { pathOfStep, STEPS, type Step } from "./checkout.js";

const ORDER = Object.keys(STEPS) as Step[];

/** The steps of the checkout. Passed ones are links. */
export function Steps({ current }: { current: Step }) {
  const at = ORDER.indexOf(current);
  return (
    <nav aria-label="Checkout">
      <ol className="checkout-steps">
        {ORDER.map((step, index) => (
          <li key={step} {...(step === current ? { "aria-current": "step" as const } : {})}>
            {index < at ? <Link href={pathOfStep(step)}>{STEPS[step]}</Link> : STEPS[step]}
          </li>
        ))}
      </ol>
    </nav>
  );
}
