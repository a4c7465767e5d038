"""Packaging. kiltetl/ holds links to the folders beside it, so that they are imported as kiltetl.* everywhere."""

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
VERSION_FILE = ROOT / "kiltetl" / "schemas" / "__init__.py"  # a source distribution has no other path to it

setup(
    name="kiltetl",
    version=re.findall(r'VERSION = "(.+)"', VERSION_FILE.read_text(encoding="utf-8"))[0],
    description="Build KILT and MKQA on any Wikipedia dump, with Apache Beam",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    keywords=[
        "KILT", "MKQA", "Wikipedia", "knowledge-intensive NLP", "retrieval", "question answering",
        "fact checking", "entity linking", "slot filling", "Apache Beam", "Parquet",
    ],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Environment :: Console",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Text Processing :: Linguistic",
        "Typing :: Typed",
    ],
    project_urls={
        "KILT": "https://arxiv.org/abs/2009.02252",
        "MKQA": "https://arxiv.org/abs/2007.15207",
    },
    python_requires=">=3.10",
    packages=find_packages(include=["kiltetl", "kiltetl.*"]),
    # the folder itself on the path: without it an editable install is an import hook, which no type checker reads
    package_dir={"": "."},
    package_data={"kiltetl": ["py.typed"]},
    install_requires=[
        "apache-beam>=2.77,<2.78",
        "ijson>=3.2",
        "mwparserfromhell>=0.6.6,<0.8",
        "numpy>=1.24",
        "pyarrow>=15",
        "requests>=2.31",
        "sacrebleu>=2.4,<3",
        "smart-open>=7",
        "tomli>=2; python_version < '3.11'",
    ],
    extras_require={
        "gcp": ["apache-beam[gcp]>=2.77,<2.78", "smart-open[gcs]>=7"],
        "aws": ["apache-beam[aws]>=2.77,<2.78", "smart-open[s3]>=7"],
        "plots": ["matplotlib>=3.6"],
        "dev": [
            "apache-beam[aws,gcp]>=2.77,<2.78",
            "build",
            "gcp-storage-emulator",
            "hypothesis",
            "matplotlib>=3.6",
            "moto[server]",
            "mypy",
            "nltk",
            "pyright",
            "pytest",
            "pytest-xdist",
            "rouge==1.0.1",
            "ruff",
            "setuptools",
            "uv",
            "wheel",
        ],
    },
    entry_points={"console_scripts": ["kiltetl = kiltetl.pipelines.cli:main"]},
)  # fmt: skip
