import { NativeSelect } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { groupsQuestion, joinGroup, type User } from "../../api/people.ts";
import { peopleTexts } from "../../messages/people.ts";
import { Ask } from "../Ask.tsx";
import { End } from "../List.tsx";
import { Failure } from "../Notice.tsx";

/** Puts a user into one of the groups that were made here. */
export function GroupField({ user, close }: { user: User; close: () => void }) {
  const texts = peopleTexts();
  const list = useInfiniteQuery(groupsQuestion());
  const [group, setGroup] = useState("");
  const open = (list.data?.pages.flatMap((page) => page.data) ?? []).filter(
    (each) => each.source === undefined && !user.groups.includes(each.id),
  );
  const act = async () => {
    await joinGroup(group, user.id);
    close();
  };
  return (
    <Ask title={texts.addTitle(user.name)} button={texts.add} close={close} act={act}>
      {list.error && <Failure error={list.error} retry={() => void list.refetch()} />}
      <NativeSelect
        data-autofocus
        required
        withAsterisk={false}
        label={texts.group}
        description={list.isSuccess && open.length === 0 ? texts.noOtherGroup : texts.addHelp}
        value={group}
        onChange={(event) => setGroup(event.currentTarget.value)}
        data={[{ value: "", label: texts.choose }, ...open.map((each) => ({ value: each.id, label: each.name }))]}
      />
      {list.hasNextPage && <End list={list} />}
    </Ask>
  );
}
