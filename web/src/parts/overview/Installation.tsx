import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMay } from "../../api/me.ts";
import { every } from "../../api/query.ts";
import { systemQuestion } from "../../api/system.ts";
import { overviewTexts } from "../../messages/overview.ts";
import { StateIcon } from "../icons.tsx";

/** How old the answer may be: the overview asks with the page, and once a minute. */
const age = 60_000;

/** What is wrong with the installation, for those who see its health. That a disk is full comes first. */
export function Installation() {
  const texts = overviewTexts();
  const may = useMay()("installation");
  const { data } = useQuery({ ...systemQuestion(), enabled: may, staleTime: age, refetchInterval: every(age) });
  const wrong = data?.findings.filter(({ ok }) => !ok).length ?? 0;
  if (!may || !data || (!data.storage_reserve && wrong === 0)) {
    return null;
  }
  return (
    <ul className="needs" aria-label={texts.installation}>
      <li>
        <StateIcon state="error" />
        <Link className="main" to="/admin/health">
          {data.storage_reserve ? texts.diskFull : texts.wrong(wrong)}
        </Link>
      </li>
    </ul>
  );
}
