import { useId } from "react";
import { showCosts, useCostsShown } from "./shown-costs.js";
import "./cost-switch.css";

/** The switch *Show costs*. */
export function CostSwitch() {
  const isShown = useCostsShown();
  const inputId = useId();
  return (
    <span className="cost-switch">
      <input
        id={inputId}
        type="checkbox"
        role="switch"
        checked={isShown}
        onChange={(event) => {
          showCosts(event.target.checked);
        }}
      />
      <label htmlFor={inputId}>Show costs</label>
    </span>
  );
}
