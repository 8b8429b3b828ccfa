/** The code of one call, to be copied: for the command line, for languages, and for spreadsheets. */
const KEY = 'ALMANAC_KEY';

interface CallExample {
  id: 'curl' | 'python' | 'r' | 'javascript' | 'excel' | 'duckdb';
  /** Of the language or the program. */
  name: string;
  /** What must be there or done before; empty where nothing has to. */
  note: string;
  code: string;
}

/** @param address of a call with a query that names no format */
export function callExamples(json: string): CallExample[] {
  const csv = `${json}&format=csv`;
  return [
    {
      id: 'curl',
      name: 'curl',
      note: `The key is in the environment variable ${KEY}.`,
      code: `curl --header "Authorization: Bearer $${KEY}" \\\n  "${json}"`,
    },
    {
      id: 'python',
      name: 'Python',
      note: 'With pandas.',
      code: `import os
import pandas as pd

key = os.environ["${KEY}"]
data = pd.read_csv(
    "${csv}",
    storage_options={"Authorization": f"Bearer {key}"},
)`,
    },
    {
      id: 'r',
      name: 'R',
      note: 'Without packages.',
      code: `key <- Sys.getenv("${KEY}")
data <- read.csv(url(
  "${csv}",
  headers = c(Authorization = paste("Bearer", key))
))`,
    },
    {
      id: 'javascript',
      name: 'JavaScript',
      note: 'Node.js, as a module.',
      code: `import { env } from "node:process";

const response = await fetch(
  "${json}",
  { headers: { Authorization: \`Bearer \${env.${KEY}}\` } },
);
const { data, meta } = await response.json();`,
    },
    {
      id: 'excel',
      name: 'Excel',
      note: 'Data, Get Data, Blank Query, Advanced Editor; sign in to the address as Anonymous. Put your key into the first line.',
      code: `let
  Key = "YOUR_KEY",
  Answer = Web.Contents(
    "${csv}",
    [Headers = [Authorization = "Bearer " & Key]]
  ),
  Rows = Csv.Document(Answer, [Encoding = 65001, QuoteStyle = QuoteStyle.Csv]),
  Table = Table.PromoteHeaders(Rows)
in
  Table`,
    },
    {
      id: 'duckdb',
      name: 'DuckDB',
      note: 'In a shell.',
      code: `curl --header "Authorization: Bearer $${KEY}" \\
  "${csv}" |
  duckdb -c "FROM read_csv('/dev/stdin')"`,
    },
  ];
}
