import { t } from "../messages/index.ts";

/** What stands where rows are still loading: nothing that is seen for 200 ms. */
export function Waiting() {
  return (
    <div className="waiting-rows" role="status" aria-label={t().loading}>
      {Array.from({ length: 8 }, (_, i) => (
        <span key={i} />
      ))}
    </div>
  );
}
