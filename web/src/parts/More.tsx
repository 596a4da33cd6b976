import { Button } from "@mantine/core";
import { t } from "../messages/index.ts";

/** The end of a list: a button for more, or that these are all. */
export function More({
  list,
}: {
  list: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => Promise<unknown> };
}) {
  return (
    <div className="below">
      {list.hasNextPage ? (
        <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {t().more}
        </Button>
      ) : (
        t().list.end
      )}
    </div>
  );
}
