import { Button } from "@mantine/core";
import { IconAlertOctagon, IconAlertTriangle, IconLock } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { Problem } from "../api/problem.ts";
import { formatDuration } from "../messages/format.ts";
import { currentLanguage, t } from "../messages/index.ts";
import { Copy } from "./Copy.tsx";

/** The icon of what is not wrong yet. It comes with the entry, where it packs better than in a file of its own. */
export function WarningIcon({ size }: { size: number }) {
  return <IconAlertTriangle aria-hidden size={size} />;
}

/** One sentence about what is not there, and what to do. */
export function Empty({ text, children }: { text: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <p>{text}</p>
      {children}
    </div>
  );
}

/** What went wrong, in the words of the server, and what to do. It never looks like an empty list. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const texts = t().failure;
  if (!(error instanceof Problem)) {
    return <Alert title={texts.title}>{texts.text}</Alert>;
  }
  if (error.code === "missing_api_key") {
    return <Alert title={texts.session}>{null}</Alert>; // a dialog says what to do
  }
  if (error.status === 403) {
    return (
      <Alert title={texts.forbidden} icon={<IconLock aria-hidden size={18} />}>
        <p>{error.message}</p>
        {/* The server says it in English. */}
        {(currentLanguage() !== "en" || error.message === error.title) && <p>{texts.forbiddenText}</p>}
      </Alert>
    );
  }
  return (
    <Alert title={error.status === 0 ? texts.unreachable : error.title}>
      {error.message !== error.title && <p>{error.message}</p>}
      {/* What the first paragraph has said already is not said again. */}
      {error.fields
        .map(({ pointer, parameter, detail }) => ({ where: pointer ?? parameter ?? "", detail }))
        .filter(({ where, detail }) => !error.message.includes(detail) || !error.message.includes(where))
        .map(({ where, detail }) => (
          <p key={where + detail}>
            <code>{where}</code> {!error.message.includes(detail) && detail}
          </p>
        ))}
      {error.retryAfter > 0 && <p>{texts.busy(formatDuration(error.retryAfter * 1000))}</p>}
      <div className="row">
        {retry && (
          <Button variant="default" onClick={retry}>
            {t().again}
          </Button>
        )}
        {error.status > 0 && <a href={`/api/v1/problems/${error.code}`}>{texts.about}</a>}
        {error.requestId !== undefined && (
          <span className="meta">
            {texts.request} <code>{error.requestId}</code>
            <Copy text={error.requestId} what={texts.request} />
          </span>
        )}
      </div>
    </Alert>
  );
}

function Alert({ title, icon, children }: { title: string; icon?: ReactNode; children: ReactNode }) {
  return (
    <div role="alert" className="alert">
      {icon ?? <IconAlertOctagon aria-hidden size={18} />}
      <div>
        <strong>{title}</strong>
        {children}
      </div>
    </div>
  );
}
