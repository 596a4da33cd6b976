return { doubled: number * 2 };
