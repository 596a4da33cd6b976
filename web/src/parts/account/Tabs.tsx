import { Link } from "@tanstack/react-router";
import { t } from "../../messages/index.ts";
import { settingsTexts } from "../../messages/settings.ts";

/** Leads to the pages about the person. */
export function AccountTabs() {
  const { nav } = t();
  const pages = [
    { to: "/account", name: nav.settings },
    { to: "/account/security", name: nav.security },
    { to: "/account/api-keys", name: nav.apiKeys },
  ] as const;
  return (
    <nav className="tabs" aria-label={settingsTexts().tabs}>
      {pages.map(({ to, name }) => (
        <Link key={to} to={to} activeOptions={{ exact: true, includeSearch: false }}>
          {name}
        </Link>
      ))}
    </nav>
  );
}
