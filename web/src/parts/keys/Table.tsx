import { IconAlertTriangle } from "@tabler/icons-react";
import type { ApiKey } from "../../api/keys.ts";
import { formatExact, formatList } from "../../messages/format.ts";
import { t } from "../../messages/index.ts";
import { apiKeysTexts } from "../../messages/keys.ts";
import { Action } from "../Action.tsx";
import { useNow } from "../clock.ts";
import { When } from "../Time.tsx";

const soon = 30 * 24 * 60 * 60 * 1000;

/** Whether a key ends within 30 days. */
export const endsSoon = (key: ApiKey, now: Date): boolean =>
  key.expires_at !== undefined && Date.parse(key.expires_at) - now.getTime() < soon;

/** Keys, with what they may do and until when. Personal keys of others can be revoked only. */
export function KeyTable({
  label,
  keys,
  mayRotate,
  rotate,
  revoke,
}: {
  label: string;
  keys: readonly ApiKey[];
  mayRotate: (key: ApiKey) => boolean;
  rotate: (key: ApiKey) => void;
  revoke: (key: ApiKey) => void;
}) {
  const texts = apiKeysTexts();
  return (
    <table className="list" aria-label={label}>
      <thead>
        <tr>
          <th scope="col">{texts.name}</th>
          <th scope="col">{texts.key}</th>
          <th scope="col">{t().environment.label}</th>
          <th scope="col">{texts.scopes}</th>
          <th scope="col">{texts.used}</th>
          <th scope="col">{texts.expires}</th>
          <th scope="col">{t().list.actions}</th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <tr key={key.id}>
            <td className="main">
              {key.name}
              {!mayRotate(key) && <span className="meta"> {texts.personal}</span>}
              {key.previous_key_until !== undefined && (
                <div className="meta">{texts.before(formatExact(new Date(key.previous_key_until)))}</div>
              )}
            </td>
            <td>
              <code>
                {key.prefix}…{key.last_four}
              </code>
            </td>
            <td>{t().environment[key.environment]}</td>
            <td className="cut" title={key.scopes.join(", ")}>
              {key.scopes.join(", ")}
              <Only apiKey={key} />
            </td>
            <td>{key.last_used_at === undefined ? texts.never : <When at={key.last_used_at} />}</td>
            <td>
              <End apiKey={key} />
            </td>
            <td>
              <span className="row">
                {mayRotate(key) && (
                  <Action variant="default" aria-label={texts.rotateTitle(key.name)} onClick={() => rotate(key)}>
                    {texts.rotate}
                  </Action>
                )}
                <Action
                  variant="default"
                  color="red"
                  aria-label={texts.revokeTitle(key.name)}
                  onClick={() => revoke(key)}
                >
                  {texts.revoke}
                </Action>
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What a key is limited to. */
function Only({ apiKey }: { apiKey: ApiKey }) {
  const texts = apiKeysTexts();
  const { workflows = [], namespaces = [], allowed_addresses: addresses = [] } = apiKey;
  const parts = [
    ...(workflows.length > 0 ? [texts.workflowCount(workflows.length)] : []),
    ...namespaces.map((name) => `${name}/*`),
    ...addresses,
  ];
  return parts.length === 0 ? null : <div className="meta cut">{texts.onlyHelp(formatList(parts))}</div>;
}

function End({ apiKey }: { apiKey: ApiKey }) {
  const now = useNow();
  if (apiKey.expires_at === undefined) {
    return apiKeysTexts().never;
  }
  if (!endsSoon(apiKey, now)) {
    return <When at={apiKey.expires_at} />;
  }
  return (
    <span className="soon">
      <IconAlertTriangle aria-hidden size={14} />
      {Date.parse(apiKey.expires_at) <= now.getTime() ? apiKeysTexts().ended : <When at={apiKey.expires_at} />}
    </span>
  );
}
