import { useId } from "react";
import { SORT_ORDERS, type FilterChoice, type ProductView, type SortOrder } from "./product-view.js";

/** Sort order and filters of a product list. */
export function ListControls({
  view,
  choices,
  onView,
}: {
  view: ProductView;
  choices: readonly FilterChoice[];
  onView: (view: ProductView) => void;
}) {
  const sortId = useId();
  return (
    <div className="list-controls">
      {choices.length > 0 && (
        <div className="list-filters" role="group" aria-label="Filter">
          <FilterButton
            name="All"
            isChosen={view.filter === null}
            onChoose={() => {
              onView({ ...view, filter: null });
            }}
          />
          {choices.map(({ id, name, count }) => (
            <FilterButton
              key={id}
              name={name}
              count={count}
              isChosen={view.filter === id}
              onChoose={() => {
                onView({ ...view, filter: view.filter === id ? null : id });
              }}
            />
          ))}
        </div>
      )}
      <div className="list-sort">
        <label htmlFor={sortId}>Sort by</label>
        <select
          id={sortId}
          value={view.sort}
          onChange={(event) => {
            onView({ ...view, sort: event.target.value as SortOrder });
          }}
        >
          {Object.entries(SORT_ORDERS).map(([sort, label]) => (
            <option key={sort} value={sort}>
              {label}
            </option>
          ))}
        </select>
      </div>
    </div>
  );
}

function FilterButton({
  name,
  count,
  isChosen,
  onChoose,
}: {
  name: string;
  count?: number;
  isChosen: boolean;
  onChoose: () => void;
}) {
  return (
    <button type="button" className="chip" aria-pressed={isChosen} onClick={onChoose}>
      <bdi>{name}</bdi> {count !== undefined && <span className="chip-count">{count}</span>}
    </button>
  );
}
