import { Button } from "@mantine/core";
import { Link, useRouter } from "@tanstack/react-router";
import { t } from "../messages/index.ts";
import type { BrokenProps } from "../parts/later.tsx";
import { Empty, Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";

export function Missing() {
  const texts = t().failure;
  return (
    <Page title={texts.notFound}>
      <Empty text={texts.notFoundText}>
        <Link to="/executions">{texts.home}</Link>
      </Empty>
    </Page>
  );
}

/** A page that could not be shown. */
export function Wrong({ error, reset }: BrokenProps) {
  const router = useRouter();
  const texts = t().failure;
  return (
    <Page
      title={texts.title}
      actions={
        <Button variant="default" onClick={() => location.reload()}>
          {texts.reload}
        </Button>
      }
    >
      <Failure
        error={error}
        retry={() => {
          reset();
          void router.invalidate();
        }}
      />
    </Page>
  );
}
