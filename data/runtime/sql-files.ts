/** SQL statements live in `.sql` files beside the modules that run them. */
import { readFileSync } from 'node:fs';

/** Reads an SQL file next to a module. @param module its `import.meta.url` */
export const readSql = (module: string, file: string): string => readFileSync(new URL(file, module), 'utf8');
