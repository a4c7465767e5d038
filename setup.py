"""Packaging. The folders stand at the top level and are imported as kiltetl.*."""

import re
from pathlib import Path

from setuptools import setup

PACKAGES = {
    "kiltetl.schemas": "schemas",
    "kiltetl.transforms": "transforms",
    "kiltetl.transforms.datasets": "transforms/datasets",
    "kiltetl.transforms.metrics": "transforms/metrics",
    "kiltetl.transforms.stages": "transforms/stages",
    "kiltetl.transforms.wikitext": "transforms/wikitext",
    "kiltetl.pipelines": "pipelines",
}

setup(
    name="kiltetl",
    version=re.findall(r'VERSION = "(.+)"', Path(__file__).with_name("schemas").joinpath("__init__.py").read_text())[0],
    description="Build KILT and MKQA on any Wikipedia dump, with Apache Beam",
    license="MIT",
    python_requires=">=3.10",
    packages=list(PACKAGES),
    package_dir=PACKAGES,
    install_requires=[
        "apache-beam>=2.77,<2.78",
        "ijson>=3.2",
        "mwparserfromhell>=0.6.6,<0.8",
        "numpy>=1.24",
        "pyarrow>=15",
        "sacrebleu>=2.4,<3",
        "smart-open>=7",
        "tomli>=2; python_version < '3.11'",
    ],
    extras_require={
        "gcp": ["apache-beam[gcp]>=2.77,<2.78", "smart-open[gcs]>=7"],
        "aws": ["apache-beam[aws]>=2.77,<2.78", "smart-open[s3]>=7"],
        "plots": ["matplotlib>=3.6"],
        "dev": [
            "apache-beam[gcp]>=2.77,<2.78",
            "build",
            "hypothesis",
            "matplotlib>=3.6",
            "mypy",
            "nltk",
            "pytest",
            "rouge==1.0.1",
            "ruff",
            "setuptools",
            "wheel",
        ],
    },
    entry_points={"console_scripts": ["kiltetl = kiltetl.pipelines.cli:main"]},
)
