/** The media type itself, without parameters. */
export const plainType = (type: string): string => type.toLowerCase().split(";")[0]?.trim() ?? "";

export const isImage = (type: string): boolean => /^image\/(png|jpeg|gif|webp|avif|svg\+xml)$/.test(plainType(type));
export const isText = (type: string): boolean =>
  /^(text\/.+|application\/(json|jsonl|x-ndjson|yaml|x-yaml|xml|toml|sql|.+\+(json|yaml|xml)))$/.test(plainType(type));

/** Whether there is a preview of files of a media type. */
export const hasPreview = (type: string): boolean => isImage(type) || isText(type);
