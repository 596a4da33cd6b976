/** What a page hands to the one that it leads to, which forgets it when it is shown. */
let deleted: string | undefined;
let text: string | undefined;

/** The workflow (namespace/name) that the list says is deleted. */
export const setDeleted = (name: string | undefined): void => void (deleted = name);
export const lastDeleted = (): string | undefined => deleted;

/** The text of a file that was dropped on the list, for the editor. */
export const setText = (file: string | undefined): void => void (text = file);
export const lastText = (): string | undefined => text;
